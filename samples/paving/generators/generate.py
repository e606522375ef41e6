"""Writes the random cases of data/secret, or into the directory that is named."""

import random
import sys
from pathlib import Path

LONGEST = 14


def planted(trees: int) -> list[str]:
    """With equally many trees on the squares of both colours, as on a chessboard."""
    places = [(y, x) for y in range(LONGEST) for x in range(LONGEST)]
    random.shuffle(places)
    yard = [["."] * LONGEST for _ in range(LONGEST)]
    for colour in (0, 1):
        for y, x in [place for place in places if sum(place) % 2 == colour][: trees // 2]:
            yard[y][x] = "#"
    return ["".join(row) for row in yard]


def main() -> None:
    random.seed(10)
    package = Path(__file__).parents[1]
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else package / "data" / "secret"
    for number, trees in enumerate((2, 4, 6, 8, 12, 16, 20), start=20):
        rows = planted(trees)
        lines = [f"{len(rows)} {len(rows[0])}", *rows]
        name = f"{number}-{trees}-trees.in"
        (target / name).write_text("".join(f"{line}\n" for line in lines))


main()
