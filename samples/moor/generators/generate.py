"""Writes the large cases of data/secret, or into the directory that is named."""

import random
import sys
from pathlib import Path

LONGEST = 300


def anywhere(size: int, digits: str) -> list[str]:
    return ["".join(random.choice(digits) for _ in range(size)) for _ in range(size)]


def to_and_fro(height: int, width: int) -> list[str]:
    """A path that goes east, west, east …, as long as there can be one."""
    rows = []
    for y in range(height):
        row = ["9" if y % 2 else "0"] * width
        if y % 2:
            row[-1 if y % 4 == 1 else 0] = "0"
        else:
            row[random.randrange(width)] = "1"
        rows.append("".join(row))
    return rows


def turned(rows: list[str]) -> list[str]:
    return ["".join(column) for column in zip(*rows)]


def main() -> None:
    random.seed(8)
    cases = {
        "20-south-and-north": turned(to_and_fro(61, 80)),
        "21-random": anywhere(LONGEST, "0123456789"),
        "22-to-and-fro": to_and_fro(LONGEST - 1, LONGEST),
        "23-row": ["".join(random.choice("123456789") for _ in range(LONGEST))],
        "24-column": [random.choice("123456789") for _ in range(LONGEST)],
    }
    package = Path(__file__).parents[1]
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else package / "data" / "secret"
    for name, rows in cases.items():
        lines = [f"{len(rows)} {len(rows[0])}", *rows]
        (target / f"{name}.in").write_text("".join(f"{line}\n" for line in lines))


main()
