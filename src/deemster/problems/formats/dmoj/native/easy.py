"""Accepts the same letters, however often and in whatever order, case and white space apart."""

import sys
from collections import Counter
from pathlib import Path


def letters(data: bytes) -> Counter[int]:
    return Counter(b"".join(data.lower().split()))


expected = Path(sys.argv[2]).read_bytes()
sys.exit(42 if letters(sys.stdin.buffer.read()) == letters(expected) else 43)
