"""Writes the large cases of data/secret, or into the directory that is named."""

import random
import sys
from pathlib import Path

MOST_CHILDREN = 2_000
MOST_QUARRELS = 10_000

Pairs = list[tuple[int, int]]


def path(size: int) -> Pairs:
    return [(i, i + 1) for i in range(1, size)]


def circle(size: int) -> Pairs:
    return [*path(size), (size, 1)]


def between_two_teams() -> Pairs:
    half = MOST_CHILDREN // 2
    found: set[tuple[int, int]] = set()
    while len(found) < MOST_QUARRELS:
        found.add((random.randint(1, half), random.randint(half + 1, MOST_CHILDREN)))
    return sorted(found)


def shuffled(pairs: Pairs) -> Pairs:
    """The children and the lines in another order."""
    names = list(range(1, MOST_CHILDREN + 1))
    random.shuffle(names)
    renamed = [(names[one - 1], names[other - 1]) for one, other in pairs]
    renamed = [pair if random.random() < 0.5 else pair[::-1] for pair in renamed]
    random.shuffle(renamed)
    return renamed


def main() -> None:
    random.seed(6)
    cases = {
        "20-path": path(MOST_CHILDREN),
        "21-path-shuffled": shuffled(path(MOST_CHILDREN)),
        "22-even-circle": shuffled(circle(MOST_CHILDREN)),
        "23-odd-circle": shuffled(circle(MOST_CHILDREN - 1)),
        "24-many-quarrels": shuffled(between_two_teams()),
    }
    package = Path(__file__).parents[1]
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else package / "data" / "secret"
    for name, pairs in cases.items():
        lines = [f"{MOST_CHILDREN} {len(pairs)}", *(f"{one} {other}" for one, other in pairs)]
        (target / f"{name}.in").write_text("".join(f"{line}\n" for line in lines))


main()
