"""Writes the large cases of data/secret, or into the directory that is named."""

import itertools
import random
import string
import sys
from pathlib import Path

MOST_BALLOTS = 20_000


def all_different() -> list[str]:
    """The shortest names there are, in no order."""
    short = ("".join(each) for size in (1, 2, 3, 4) for each in letters(size))
    names = list(itertools.islice(short, MOST_BALLOTS))
    random.shuffle(names)
    return names


def letters(size: int) -> "itertools.product[tuple[str, ...]]":
    return itertools.product(string.ascii_lowercase, repeat=size)


def close_race() -> list[str]:
    """So few votes apart that there are many ties."""
    names = ["".join(each) for each in letters(2)][:300]
    random.shuffle(names)
    ballots = [name for name in names for _ in range(random.randrange(8, 13))]
    random.shuffle(ballots)
    return ballots


def landslide() -> list[str]:
    return ["a"] * (MOST_BALLOTS - 1) + ["b"]


def main() -> None:
    random.seed(3)
    cases = {
        "10-close-race": (100, close_race()),
        "11-all-different": (100, all_different()),
        "12-landslide": (2, landslide()),
    }
    package = Path(__file__).parents[1]
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else package / "data" / "secret"
    for name, (seats, ballots) in cases.items():
        lines = [f"{len(ballots)} {seats}", *ballots]
        (target / f"{name}.in").write_text("".join(f"{line}\n" for line in lines))


main()
