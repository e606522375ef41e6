"""Accepts outputs with the same characters in any order, ignoring case and white space."""

import sys
from collections import Counter
from pathlib import Path


def letters(data: bytes) -> Counter[int]:
    return Counter(b"".join(data.lower().split()))


expected = Path(sys.argv[2]).read_bytes()
sys.exit(42 if letters(sys.stdin.buffer.read()) == letters(expected) else 43)
