"""Creates a private work directory for each attempt and always removes it afterwards."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from deemster.directory_store import create, remove
from deemster.domain.errors import Unavailable
from deemster.locks import acquire
from deemster.programs.scratch import new_file, write_all


@asynccontextmanager
async def workspace(root: Path) -> AsyncIterator[Path]:
    """A new directory that only its owner may enter; a lock marks it as in use."""
    try:
        path, lock = await acquire(lambda: create(root), lambda created: remove(*created))
    except OSError as fault:
        raise no_work_directory(root, fault) from fault
    try:
        yield path
    finally:
        # Not in a thread: a cancelled attempt must not end before its files are removed.
        remove(path, lock)


def no_work_directory(root: Path, fault: OSError) -> Unavailable:
    return Unavailable(
        f"No work directory could be created in {root} ({fault.strerror}): "
        "set DEEMSTER_WORK_DIR to a writable directory."
    )


def write_files(directory: Path, files: Mapping[str, bytes]) -> None:
    """Names are UTF-8 in the sandbox, whatever the host's locale. Existing files stay."""
    for name, content in files.items():
        path = directory / os.fsdecode(name.encode())
        try:
            make_parents(directory, path)
            with new_file(path, 0o644) as descriptor:
                write_all(descriptor, content)
        except (FileExistsError, NotADirectoryError):
            continue


def make_parents(directory: Path, path: Path) -> None:
    for above in reversed(path.relative_to(directory).parents[:-1]):
        if (directory / above).is_symlink():
            raise NotADirectoryError(directory / above)
        if not (directory / above).is_dir():
            make_directory(directory / above)


def make_directory(path: Path) -> Path:
    """Readable by the sandbox's user, whatever the umask; the parent keeps others out."""
    path.mkdir()
    path.chmod(0o755)
    return path
