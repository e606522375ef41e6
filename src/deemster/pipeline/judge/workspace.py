"""Directories for one attempt each: unique, ours alone, and gone afterwards in any case."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from deemster.domain.errors import Unavailable
from deemster.locks import acquire, lock_directory, locked
from deemster.pipeline.judge.collect import WRITE_FLAGS, write_all

REMOVAL_TRIES = 20
SWEEP_TRIES = 10
SWEEP_PAUSE_S = 0.01


@asynccontextmanager
async def workspace(root: Path) -> AsyncIterator[Path]:
    """A new directory that nobody but its owner may enter; its lock tells that it is in use."""
    try:
        path, held = await acquire(lambda: create(root), lambda made: remove(*made))
    except OSError as fault:
        raise Unavailable(
            f"No work directory could be made in {root} ({fault.strerror}): "
            "name a writable place with DEEMSTER_WORK_DIR."
        ) from fault
    try:
        yield path
    finally:
        # Not awaited: a cancelled attempt must not leave before its files are gone.
        remove(path, held)


def create(root: Path) -> tuple[Path, int]:
    """A new directory with a lock on it that keeps a sweep away."""
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(root, fcntl.LOCK_SH):
        path = Path(tempfile.mkdtemp(dir=root))
        return path, lock_directory(path, fcntl.LOCK_SH)


def remove(path: Path, held: int) -> None:
    """Takes a directory away, also from a thread of a cancelled attempt that writes there."""
    for _ in range(REMOVAL_TRIES):
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            break
    os.close(held)


def sweep(root: Path) -> int:
    """Removes what killed processes left behind; how many directories that were."""
    for _ in range(SWEEP_TRIES):
        try:
            # The root's lock keeps out those who have made a directory and not locked it yet.
            with locked(root, fcntl.LOCK_EX | fcntl.LOCK_NB):
                return sum(remove_if_free(path) for path in root.iterdir())
        except FileNotFoundError:
            break
        except BlockingIOError:
            time.sleep(SWEEP_PAUSE_S)  # someone makes a directory, which is quickly done
    return 0


def remove_if_free(path: Path) -> bool:
    try:
        with locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB):
            shutil.rmtree(path, ignore_errors=True)
    except OSError:
        return False
    return True


def write_files(directory: Path, files: Mapping[str, bytes]) -> None:
    """Names are UTF-8 in the box, whatever the host's locale. What is there already stays."""
    for name, content in files.items():
        path = directory / os.fsdecode(name.encode())
        try:
            make_parents(directory, path)
            descriptor = os.open(path, WRITE_FLAGS, 0o644)
        except (FileExistsError, NotADirectoryError):
            continue
        try:
            os.fchmod(descriptor, 0o644)
            write_all(descriptor, content)
        finally:
            os.close(descriptor)


def make_parents(directory: Path, path: Path) -> None:
    for above in reversed(path.relative_to(directory).parents[:-1]):
        if (directory / above).is_symlink():
            raise NotADirectoryError(directory / above)
        if not (directory / above).is_dir():
            make_directory(directory / above)


def make_directory(path: Path) -> Path:
    """Readable by the box's own user, whatever the umask; its parent keeps others out."""
    path.mkdir()
    path.chmod(0o755)
    return path
