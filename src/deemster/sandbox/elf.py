"""Finds the shared libraries and the interpreter that an executable file needs."""

import os
import platform
import re
import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

HEADER: Final = struct.Struct("<16sHHIQQQIHHHHHH")
SEGMENT: Final = struct.Struct("<IIQQQQQQ")
DYNAMIC: Final = struct.Struct("<qQ")
LOAD, DYNAMIC_SEGMENT, INTERPRETER = 1, 2, 3
NEEDED, STRINGS, RPATH, RUNPATH = 1, 5, 15, 29
MAX_STRING_BYTES: Final = 4096
LITTLE_ENDIAN_64: Final = b"\x7fELF\x02\x01"
LIBRARY_NAME: Final = re.compile(r"\.so(\.|$)")

STANDARD_DIRECTORIES: Final = tuple(
    Path(path)
    for path in (f"/usr/lib/{platform.machine()}-linux-gnu", "/usr/lib64", "/usr/lib")
)
"""Where the loader looks without a cache; /lib and /lib64 are links to them."""


def script_interpreter(file: Path) -> Iterator[Path]:
    """Yields the interpreter of a script, if the file is one."""
    with file.open("rb") as opened:
        start = opened.readline(MAX_STRING_BYTES)
    if start.startswith(b"#!"):
        for word in start[2:].split()[:1]:
            yield Path(os.fsdecode(word))


def needs_of(file: Path) -> Iterator[Path]:
    """Yields the libraries and the interpreter of a program or a library.

    A library that does not exist is left out: programs can do without some of them.
    """
    try:
        with file.open("rb") as opened:
            start = opened.read(HEADER.size)
            if start.startswith(LITTLE_ENDIAN_64) and len(start) == HEADER.size:
                yield from binary_needs(file, opened.fileno(), start)
    except (OSError, struct.error):
        return


def is_loadable(name: str, mode: int) -> bool:
    """Whether a file may be a program or a library; most files need not be opened."""
    return bool(mode & 0o111 or LIBRARY_NAME.search(name))


def binary_needs(file: Path, descriptor: int, start: bytes) -> Iterator[Path]:
    fields = HEADER.unpack(start)
    offset, size, count = fields[5], fields[9], fields[10]
    table = os.pread(descriptor, size * count, offset)
    segments = [SEGMENT.unpack_from(table, size * number) for number in range(count)]
    for kind, _, at, _, _, length, _, _ in segments:
        if kind == INTERPRETER:
            yield Path(os.fsdecode(os.pread(descriptor, length, at).rstrip(b"\0")))
        elif kind == DYNAMIC_SEGMENT:
            entries = list(DYNAMIC.iter_unpack(os.pread(descriptor, length // 16 * 16, at)))
            yield from library_needs(file, descriptor, entries, segments)


def library_needs(
    file: Path,
    descriptor: int,
    entries: list[tuple[int, int]],
    segments: list[tuple[int, ...]],
) -> Iterator[Path]:
    address = next((value for tag, value in entries if tag == STRINGS), 0)
    loads = [(each[3], each[2], each[5]) for each in segments if each[0] == LOAD]
    offset = next(
        (at + address - begin for begin, at, size in loads if begin <= address < begin + size),
        0,
    )

    def string(value: int) -> str:
        return os.fsdecode(
            os.pread(descriptor, MAX_STRING_BYTES, offset + value).partition(b"\0")[0]
        )

    origin = str(file.parent)
    places = [
        Path(place.replace("${ORIGIN}", origin).replace("$ORIGIN", origin))
        for tag, value in entries
        if tag in {RPATH, RUNPATH}
        for place in string(value).split(":")
        if place
    ]
    for name in (string(value) for tag, value in entries if tag == NEEDED):
        for place in (*places, *library_directories()):
            if (place / name).exists():
                yield place / name
                break


@cache
def library_directories() -> tuple[Path, ...]:
    configured = [
        Path(line.strip())
        for file in sorted(Path("/etc/ld.so.conf.d").glob("*.conf"))
        for line in file.read_text(errors="replace").splitlines()
        if line.startswith("/")
    ]
    return (*STANDARD_DIRECTORIES, *(each for each in configured if each.is_dir()))
