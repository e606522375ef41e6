"""Where a file lies that `config.yaml` names."""

from pathlib import Path

from deemster.domain.errors import Refused
from deemster.problems.archive.names import clean_name
from deemster.problems.formats.hydro.config import TESTDATA, refused

PLACES = ("", "input/", "output/")


def find_file(root: Path, name: str, road: str) -> str:
    try:
        path = clean_name(name)
    except Refused as fault:
        raise refused(road, f"can't be used. {fault}") from None
    for place in PLACES:
        if path and (root / TESTDATA / place / path).is_file():
            return f"{TESTDATA}/{place}{path}"
    raise refused(road, f"names {name[:100]!r}, which is not in {TESTDATA}/: add it.")
