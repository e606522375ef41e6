"""Copies a package from a directory that an attacker may change meanwhile.

Every file is opened relative to its parent's descriptor and never through a link, so that a
file that is replaced meanwhile leads nowhere else.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.problems.archive.names import check_part, is_tool_file, shown
from deemster.problems.archive.writer import CHUNK_BYTES, PackageWriter

OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def read_directory(source: Path, writer: PackageWriter) -> None:
    descriptor = os.open(source, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        read_entries(descriptor, "", writer)
    finally:
        os.close(descriptor)


def read_entries(directory_fd: int, above: str, writer: PackageWriter) -> None:
    with os.scandir(directory_fd) as found:
        entries = sorted(entry.name for entry in found)
    for entry in entries:
        name = f"{above}/{entry}" if above else entry
        check_part(entry, name)
        if not is_tool_file(entry):
            read_entry(directory_fd, entry, name, writer)


def read_entry(directory_fd: int, entry: str, name: str, writer: PackageWriter) -> None:
    try:
        kind = os.stat(entry, dir_fd=directory_fd, follow_symlinks=False).st_mode
        if stat.S_ISLNK(kind):
            writer.add_link(name, os.readlink(entry, dir_fd=directory_fd))
            return
        if not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):
            raise not_a_plain_file(name)
        descriptor = os.open(entry, OPEN_FLAGS, dir_fd=directory_fd)
    except OSError as fault:
        raise Refused(f"{shown(name)} can't be read ({fault.strerror}).") from fault
    try:
        read_opened(descriptor, name, writer)
    finally:
        os.close(descriptor)


def read_opened(descriptor: int, name: str, writer: PackageWriter) -> None:
    """Checks the type again: the file may have been replaced."""
    kind = os.fstat(descriptor).st_mode
    if stat.S_ISDIR(kind):
        writer.add_directory(name)
        read_entries(descriptor, name, writer)
    elif stat.S_ISREG(kind):
        executable = bool(kind & stat.S_IXUSR)
        writer.add_file(name, chunks_from(descriptor, name), executable=executable)
    else:
        raise not_a_plain_file(name)


def chunks_from(descriptor: int, name: str) -> Iterator[bytes]:
    try:
        while chunk := os.read(descriptor, CHUNK_BYTES):
            yield chunk
    except OSError as fault:
        raise Refused(f"{shown(name)} can't be read ({fault.strerror}).") from fault


def not_a_plain_file(name: str) -> Refused:
    return Refused(f"{shown(name)} is a device, pipe or socket: use plain files only.")
