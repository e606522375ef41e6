"""Writes a file that only its owner can read, atomically."""

import os
import tempfile
from pathlib import Path


def write_private(
    path: Path, text: str, *, owner: tuple[int, int] | None = None, replace: bool = True
) -> None:
    """Writes the text and a line break. `owner` is a uid and a gid.

    Raises `FileExistsError` if the file exists and `replace` is false.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    fresh = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text + "\n")
            if owner is not None:
                os.fchown(descriptor, *owner)
            file.flush()
            os.fsync(descriptor)
        if replace:
            fresh.replace(path)
        else:
            path.hardlink_to(fresh)
    finally:
        fresh.unlink(missing_ok=True)
