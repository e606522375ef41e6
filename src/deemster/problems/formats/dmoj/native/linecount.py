"""Scores the share of correct lines; an output with too many lines scores nothing."""

import sys
from pathlib import Path


def lines(data: bytes) -> list[bytes]:
    return [line.strip() for line in data.replace(b"\r", b"\n").split(b"\n") if line]


expected = lines(Path(sys.argv[2]).read_bytes())
got = lines(sys.stdin.buffer.read())
right = sum(one == other for one, other in zip(expected, got, strict=False))
if len(got) > len(expected) or (expected and not right):
    sys.exit(43)
if right < len(expected):
    Path(sys.argv[3], "score_multiplier.txt").write_text(str(right / len(expected)))
sys.exit(42)
