"""Packs a revision as a tar: the same bytes for the same revision, wherever it is done."""

import tarfile
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.problems.archive.names import clean_name, is_leftover, shown
from deemster.problems.archive.tarred import DIGITS
from deemster.problems.digest import entries_of

SPARE_NAME = "problem"


def pack(directory: Path, target: Path) -> None:
    """All below one directory of its name; no times, no owners, sorted."""
    top = SPARE_NAME if is_leftover(directory.name) else directory.name
    with tarfile.open(target, "x:", format=tarfile.PAX_FORMAT) as tar:
        for name, path in sorted(entries_of(directory)):
            add(tar, packed_name(top, name), path)


def add(tar: tarfile.TarFile, name: str, path: Path) -> None:
    header = tarfile.TarInfo(name)
    if path.is_dir():
        header.type, header.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(header)
        return
    with path.open("rb") as file:
        found = path.stat()
        header.size = found.st_size
        header.mode = 0o755 if found.st_mode & 0o100 else 0o644
        tar.addfile(header, file)


def packed_name(top: str, name: str) -> str:
    """One that our own reader of tars takes; a zip may have had others."""
    packed = clean_name(f"{top}/{name}")
    if DIGITS.search(packed.encode()):
        raise Refused(f"The package has a name of too many digits, {shown(name)}: shorten it.")
    return packed
