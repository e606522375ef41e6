"""Creates a private work directory for each attempt and always removes it afterwards."""

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
from deemster.pipeline.judge.scratch import new_file, write_all

REMOVAL_TRIES = 20
SWEEP_TRIES = 10
SWEEP_PAUSE_S = 0.01


@asynccontextmanager
async def workspace(root: Path) -> AsyncIterator[Path]:
    """A new directory that only its owner may enter; a lock marks it as in use."""
    try:
        path, held = await acquire(lambda: create(root), lambda created: remove(*created))
    except OSError as fault:
        raise Unavailable(
            f"No work directory could be created in {root} ({fault.strerror}): "
            "set DEEMSTER_WORK_DIR to a writable directory."
        ) from fault
    try:
        yield path
    finally:
        # Not in a thread: a cancelled attempt must not end before its files are removed.
        remove(path, held)


def create(root: Path) -> tuple[Path, int]:
    """A new directory, and a lock on it that keeps `sweep` from removing it."""
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(root, fcntl.LOCK_SH):
        path = Path(tempfile.mkdtemp(dir=root))
        return path, lock_directory(path, fcntl.LOCK_SH)


def remove(path: Path, held: int) -> None:
    """Tries again while a thread of a cancelled attempt still writes to the directory."""
    for _ in range(REMOVAL_TRIES):
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            break
    os.close(held)


def sweep(root: Path) -> int:
    """Removes the directories that killed processes left behind and returns their number."""
    for _ in range(SWEEP_TRIES):
        try:
            # The lock on the root excludes processes that created a directory but have not
            # locked it yet.
            with locked(root, fcntl.LOCK_EX | fcntl.LOCK_NB):
                return sum(remove_if_free(path) for path in root.iterdir())
        except FileNotFoundError:
            break
        except BlockingIOError:
            time.sleep(SWEEP_PAUSE_S)  # another process is creating a directory
    return 0


def remove_if_free(path: Path) -> bool:
    try:
        with locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB):
            shutil.rmtree(path, ignore_errors=True)
    except OSError:
        return False
    return True


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
