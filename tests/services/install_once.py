"""Installs what tests need, once for the environment that they run in."""

import fcntl
import hashlib
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from deemster.locks import locked


def install_once(name: str, lock: Path, install: Callable[[Path], None]) -> Path:
    """The directory for this content of the lock file; whoever comes second waits.

    `install` makes the directory that it is given. One that fails leaves nothing behind.
    """
    place = Path(sys.prefix) / "services"
    place.mkdir(exist_ok=True)
    target = place / f"{name}-{hashlib.sha256(lock.read_bytes()).hexdigest()[:16]}"
    with locked(place, fcntl.LOCK_EX):
        if not target.exists():
            half_made = target.with_suffix(".new")
            shutil.rmtree(half_made, ignore_errors=True)
            install(half_made)
            half_made.rename(target)
    return target
