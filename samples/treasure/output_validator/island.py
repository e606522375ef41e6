"""Plays the island: answers each hole with its distance to the treasure."""

import os
import re
import sys
from pathlib import Path
from typing import NoReturn

SIZE = 10**6
HOLES = 3
LONGEST_LINE = 100
PLACE = re.compile(rb"\s*([0-9]{1,7})\s+([0-9]{1,7})\s*")


def main() -> None:
    input_file, _, feedback = sys.argv[1:4]
    a, b = map(int, Path(input_file).read_text().split())
    message = Path(feedback) / "judgemessage.txt"
    for hole in range(1, HOLES + 1):
        line = sys.stdin.buffer.readline(LONGEST_LINE)
        place = PLACE.fullmatch(line)
        if place is None:
            reject(message, f"hole {hole}: expected a place, read {line!r}")
        x, y = map(int, place.groups())
        if max(x, y) > SIZE:
            reject(message, f"hole {hole}: {x} {y} is outside of the island")
        distance = abs(x - a) + abs(y - b)
        if distance == 0:
            accept(message, hole)
        if hole < HOLES:
            print(distance, flush=True)
    reject(message, f"{HOLES} holes, and the last one is {distance} steps away")


def accept(message: Path, hole: int) -> NoReturn:
    """Nothing may follow the last hole; whoever still reads sees the end."""
    print(0, flush=True)
    os.close(sys.stdout.fileno())
    rest = sys.stdin.buffer.read(LONGEST_LINE)
    if rest.strip():
        reject(message, f"found with hole {hole}, and then read {rest!r}")
    message.write_text(f"found with hole {hole}\n")
    sys.exit(42)


def reject(message: Path, why: str) -> NoReturn:
    message.write_text(f"{why}\n")
    sys.exit(43)


main()
