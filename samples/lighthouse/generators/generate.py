"""Writes the long cases of data/secret, or into the directory that is named."""

import random
import sys
from pathlib import Path

LONGEST = 20_000


def main() -> None:
    random.seed(2)
    cases = {
        "10-random": "".join(random.choice("#....") for _ in range(5_000)),
        "11-always-dark": "." * LONGEST,
        "12-always-lit": "#" * LONGEST,
        "13-lit-in-the-middle": "." * (LONGEST // 2 - 1) + "#" + "." * (LONGEST // 2),
    }
    package = Path(__file__).parents[1]
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else package / "data" / "secret"
    for name, notes in cases.items():
        (target / f"{name}.in").write_text(f"{notes}\n")


main()
