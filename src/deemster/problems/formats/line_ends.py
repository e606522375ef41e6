"""Line ends of Windows and old Macs in test data, made those of Unix in constant memory."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

CHUNK_BYTES = 1 << 20
CRLF, CR, LF = b"\r\n", b"\r", b"\n"


def windows_to_unix(path: Path) -> None:
    """Only where every line ends in CR LF; anything else is left as it is."""
    with path.open("rb") as file:
        windows = is_windows(file)
    if windows:
        rewrite(path, lambda chunk: chunk.replace(CRLF, LF))


def all_to_unix(path: Path) -> None:
    """CR LF and CR become LF, and the last line ends too: what DMOJ's judge does."""
    with path.open("rb") as file:
        unix = is_unix(file)
    if not unix:
        rewrite(path, lambda chunk: chunk.replace(CRLF, LF).replace(CR, LF), end=True)


def is_windows(file: BinaryIO) -> bool:
    found = False
    for chunk in whole_line_ends(file):
        pairs = chunk.count(CRLF)
        if pairs != chunk.count(LF) or pairs != chunk.count(CR):
            return False
        found = found or pairs > 0
    return found


def is_unix(file: BinaryIO) -> bool:
    last = LF
    for chunk in whole_line_ends(file):
        if CR in chunk:
            return False
        last = chunk[-1:]
    return last == LF


def whole_line_ends(file: BinaryIO) -> Iterator[bytes]:
    """Chunks that never part a CR from its LF."""
    while chunk := file.read(CHUNK_BYTES):
        while chunk.endswith(CR) and (following := file.read(1)):
            chunk += following
        yield chunk


def rewrite(path: Path, change: Callable[[bytes], bytes], *, end: bool = False) -> None:
    changed = path.with_name(f".{path.name[:200]}.changed")
    last = LF
    with path.open("rb") as source, changed.open("xb") as target:
        for chunk in whole_line_ends(source):
            data = change(chunk)
            target.write(data)
            last = data[-1:]
        if end and last != LF:
            target.write(LF)
    changed.chmod(path.stat().st_mode & 0o777)
    changed.replace(path)
