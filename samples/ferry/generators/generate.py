"""Writes the large cases of data/secret, or into the directory that is named."""

import random
import sys
from pathlib import Path

MOST_CARS = 10_000
HEAVIEST = 10**9


def main() -> None:
    random.seed(5)
    cases = {
        "20-random": (97, [random.randint(1, HEAVIEST) for _ in range(MOST_CARS)]),
        "21-all-light": (1, [1] * MOST_CARS),
        "22-a-crossing-each": (MOST_CARS, [random.randint(1, 99) for _ in range(MOST_CARS)]),
        "23-all-heaviest": (7, [HEAVIEST] * 2_500),
        "24-lorries-among-bicycles": (
            40,
            [HEAVIEST if i % 60 == 0 else random.randint(1, 9) for i in range(MOST_CARS)],
        ),
    }
    package = Path(__file__).parents[1]
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else package / "data" / "secret"
    for name, (crossings, weights) in cases.items():
        text = f"{len(weights)} {crossings}\n{' '.join(map(str, weights))}\n"
        (target / f"{name}.in").write_text(text)


main()
