"""Where a file lies that `init.yml` names: in the package, else in the archive it names."""

from pathlib import Path

from deemster.domain.errors import Refused
from deemster.problems.archive.names import clean_name
from deemster.problems.formats.dmoj.init_file import refused

ARCHIVE = "_archive"
"""Where `prepare.py` unpacks it."""
EMPTY = "_empty"
"""Stands for an answer that says nothing."""


def find_file(root: Path, name: str, road: str) -> str:
    try:
        path = clean_name(name)
    except Refused as fault:
        raise refused(road, f"can't be used. {fault}") from None
    for candidate in (path, f"{ARCHIVE}/{path}"):
        if path and (root / candidate).is_file():
            return candidate
    raise refused(
        road, f"names {name[:100]!r}, which is not there: add it, or correct the name."
    )


def archived_names(root: Path) -> list[str]:
    place = root / ARCHIVE
    found = (path for path in place.rglob("*") if path.is_file())
    return sorted(str(path.relative_to(place)) for path in found)
