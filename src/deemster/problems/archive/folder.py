"""Copies a directory that may change, or turn hostile, while it is read.

Every name is opened beside its parent's descriptor and never through a link, so that a file
that is swapped meanwhile leads nowhere else.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.problems.archive.intake import CHUNK_BYTES, Intake
from deemster.problems.archive.names import check_part, is_leftover, shown

OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def take_folder(source: Path, intake: Intake) -> None:
    descriptor = os.open(source, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        take_entries(descriptor, "", intake)
    finally:
        os.close(descriptor)


def take_entries(directory_fd: int, above: str, intake: Intake) -> None:
    with os.scandir(directory_fd) as found:
        entries = sorted(entry.name for entry in found)
    for entry in entries:
        name = f"{above}/{entry}" if above else entry
        check_part(entry, name)
        if not is_leftover(entry):
            take_entry(directory_fd, entry, name, intake)


def take_entry(directory_fd: int, entry: str, name: str, intake: Intake) -> None:
    try:
        kind = os.stat(entry, dir_fd=directory_fd, follow_symlinks=False).st_mode
        if stat.S_ISLNK(kind):
            intake.add_link(name, os.readlink(entry, dir_fd=directory_fd))
            return
        if not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):
            raise no_plain_file(name)
        descriptor = os.open(entry, OPEN_FLAGS, dir_fd=directory_fd)
    except OSError as fault:
        raise Refused(f"{shown(name)} can't be read ({fault.strerror}).") from fault
    try:
        take_opened(descriptor, name, intake)
    finally:
        os.close(descriptor)


def take_opened(descriptor: int, name: str, intake: Intake) -> None:
    """Asks again what it is: it may have been swapped since."""
    kind = os.fstat(descriptor).st_mode
    if stat.S_ISDIR(kind):
        intake.add_directory(name)
        take_entries(descriptor, name, intake)
    elif stat.S_ISREG(kind):
        executable = bool(kind & stat.S_IXUSR)
        intake.add_file(name, chunks_from(descriptor, name), executable=executable)
    else:
        raise no_plain_file(name)


def chunks_from(descriptor: int, name: str) -> Iterator[bytes]:
    try:
        while chunk := os.read(descriptor, CHUNK_BYTES):
            yield chunk
    except OSError as fault:
        raise Refused(f"{shown(name)} can't be read ({fault.strerror}).") from fault


def no_plain_file(name: str) -> Refused:
    return Refused(f"{shown(name)} is a device, pipe or socket: a package holds plain files.")
