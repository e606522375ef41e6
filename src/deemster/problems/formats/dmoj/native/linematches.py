"""Scores single lines, with the points per line that the first argument gives."""

import json
import sys
from pathlib import Path


def lines(data: bytes) -> list[bytes]:
    return [line for line in data.replace(b"\r", b"\n").split(b"\n") if line]


options = json.loads(sys.argv[1])
worth = options["point_distribution"]
expected = lines(Path(sys.argv[3]).read_bytes())
got = lines(sys.stdin.buffer.read())
if len(expected) != len(worth) or not sum(worth):
    sys.exit("The point distribution doesn't fit the expected output.")
if options["filler_lines_required"] and len(got) != len(expected):
    sys.exit(43)
triples = zip(expected, got, worth, strict=False)
share = sum(points for one, other, points in triples if one == other) / sum(worth)
if not share:
    sys.exit(43)
if share < 1:
    Path(sys.argv[4], "score_multiplier.txt").write_text(str(share))
sys.exit(42)
