"""Converts line endings of test data to those of Unix, in constant memory."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

CHUNK_BYTES = 1 << 20
CRLF, CR, LF = b"\r\n", b"\r", b"\n"


def windows_to_unix(path: Path) -> None:
    """Changes a file only if every line ends with CR LF."""
    with path.open("rb") as file:
        windows = is_windows(file)
    if windows:
        rewrite(path, lambda chunk: chunk.replace(CRLF, LF))


def all_to_unix(path: Path) -> None:
    """Replaces CR LF and CR by LF and ends the last line, as DMOJ's judge does."""
    with path.open("rb") as file:
        unix = is_unix(file)
    if not unix:
        rewrite(path, lambda chunk: chunk.replace(CRLF, LF).replace(CR, LF), end=True)


def is_windows(file: BinaryIO) -> bool:
    found = False
    for chunk in chunks_of(file):
        pairs = chunk.count(CRLF)
        if pairs != chunk.count(LF) or pairs != chunk.count(CR):
            return False
        found = found or pairs > 0
    return found


def is_unix(file: BinaryIO) -> bool:
    last = LF
    for chunk in chunks_of(file):
        if CR in chunk:
            return False
        last = chunk[-1:]
    return last == LF


def chunks_of(file: BinaryIO) -> Iterator[bytes]:
    """Chunks that never separate a CR from its LF."""
    while chunk := file.read(CHUNK_BYTES):
        while chunk.endswith(CR) and (following := file.read(1)):
            chunk += following
        yield chunk


def rewrite(path: Path, change: Callable[[bytes], bytes], *, end: bool = False) -> None:
    changed = path.with_name(f".{path.name[:200]}.changed")
    last = LF
    with path.open("rb") as source, changed.open("xb") as target:
        for chunk in chunks_of(source):
            data = change(chunk)
            target.write(data)
            last = data[-1:]
        if end and last != LF:
            target.write(LF)
    changed.chmod(path.stat().st_mode & 0o777)
    changed.replace(path)
