"""Copies an initialised Postgres cluster into a data directory: initdb takes much longer."""

import asyncio
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from deemster.locks import locked
from deemster.store.embedded import program, run_cluster
from deemster.store.embedded.cluster import INITDB

ROOT = Path(__file__).parents[2]


def place_cluster(data_dir: Path) -> None:
    """Does nothing if the directory has a cluster."""
    home = data_dir / "postgres"
    if not (home / "cluster").exists():
        home.mkdir(parents=True, exist_ok=True)
        copy(made_cluster() / "postgres" / "cluster", home / "cluster")


def copy(source: Path, target: Path) -> None:
    """Keeps owners: a cluster of root's belongs to another user."""
    subprocess.run(["cp", "--archive", "--reflink=auto", source, target], check=True)


def made_cluster() -> Path:
    """Made once in the environment that the tests run in, by whoever comes first."""
    place = Path(sys.prefix) / "services"
    place.mkdir(exist_ok=True)
    made_by = (*INITDB, program("initdb").stat().st_mtime_ns, os.geteuid())
    target = place / f"cluster-{hashlib.sha256(repr(made_by).encode()).hexdigest()[:16]}"
    with locked(place, fcntl.LOCK_EX):
        if not target.exists():
            half_made = target.with_suffix(".new")
            shutil.rmtree(half_made, ignore_errors=True)
            # In a process of its own: the callers are inside event loops.
            argv = [sys.executable, "-m", "tests.services.clusters", str(half_made)]
            subprocess.run(argv, cwd=ROOT, check=True)
            half_made.rename(target)
    return target


async def make(data_dir: Path) -> None:
    async with run_cluster(data_dir, settings={"fsync": "off"}):
        pass


if __name__ == "__main__":
    asyncio.run(make(Path(sys.argv[1])))
