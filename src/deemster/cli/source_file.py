"""Reads the file that a command was given."""

from pathlib import Path

from deemster.domain.errors import Refused
from deemster.domain.source import SOURCE_BYTES


def read_source(file: Path) -> bytes:
    try:
        if file.is_dir():
            raise Refused(f"{file} is a directory: give the program's source file.")
        if not file.is_file():
            raise Refused(f"There is no file {file}: check its name.")
        with file.open("rb") as opened:
            return opened.read(SOURCE_BYTES + 1)
    except OSError as fault:
        raise Refused(
            f"Can't read {file} ({fault.strerror}): check its permissions."
        ) from fault
