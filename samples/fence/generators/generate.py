"""Writes the large cases of data/secret, or into the directory that is named."""

import random
import sys
from pathlib import Path

MOST_POSTS = 1_000
FARTHEST = 10**6


def anywhere() -> list[tuple[int, int]]:
    return [
        (random.randint(-FARTHEST, FARTHEST), random.randint(-FARTHEST, FARTHEST))
        for _ in range(MOST_POSTS)
    ]


def sawtooth() -> list[tuple[int, int]]:
    """A long way out, and back in small steps that numbers of low precision lose."""
    corners = [(-FARTHEST, FARTHEST), (FARTHEST, FARTHEST), (FARTHEST, -FARTHEST)]
    return corners + [(2_000 - i, i % 2) for i in range(MOST_POSTS - len(corners))]


def main() -> None:
    random.seed(4)
    package = Path(__file__).parents[1]
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else package / "data" / "secret"
    for name, posts in {"10-anywhere": anywhere(), "11-sawtooth": sawtooth()}.items():
        lines = [f"{len(posts)}", *(f"{x} {y}" for x, y in posts)]
        (target / f"{name}.in").write_text("".join(f"{line}\n" for line in lines))


main()
