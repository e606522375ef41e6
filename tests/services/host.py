"""Holds the servers that all test processes of a run share, until the last of them has left."""

import asyncio
import fcntl
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

import asyncpg

from deemster.locks import lock_directory, locked
from deemster.store.migrations import migrate
from tests.services.postgres import HASTY, OwnPostgres, with_database
from tests.services.redis import OwnRedis
from tests.services.shared import Services, opened

TEMPLATE = "deemster_template"
MEMORY = Path("/dev/shm")
PREFIX = "deemster-test-run-"
ROOM_BYTES = 2 << 30


async def main(directory: Path) -> None:
    with data_directory(directory) as data:
        async with OwnPostgres(data, HASTY) as postgres, OwnRedis(data / "redis") as redis:
            await make_template(postgres.url)
            publish(directory, Services(postgres.url, TEMPLATE, redis.url))
            with opened(directory / "users") as users:
                await asyncio.to_thread(fcntl.flock, users, fcntl.LOCK_EX)
                (directory / "ready").unlink()
                await postgres.stop()


@contextmanager
def data_directory(directory: Path) -> Iterator[Path]:
    """In memory where there is enough: on a disk, dropping a database takes longer than most
    tests.
    """
    if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= ROOM_BYTES:
        sweep(MEMORY)
        with claimed_directory(MEMORY) as place:
            yield place
    else:
        yield directory / "servers"
        shutil.rmtree(directory / "servers")


@contextmanager
def claimed_directory(below: Path) -> Iterator[Path]:
    """A new directory, locked so that no other run's sweep removes it."""
    place, lock = claim(below)
    try:
        yield place
        shutil.rmtree(place)
    finally:
        os.close(lock)


def claim(below: Path) -> tuple[Path, int]:
    while True:
        place = Path(tempfile.mkdtemp(prefix=PREFIX, dir=below))
        with suppress(FileNotFoundError):  # a sweep came before the lock
            lock = lock_directory(place, fcntl.LOCK_EX)
            if place.exists():
                return place, lock
            os.close(lock)


def sweep(below: Path) -> None:
    """Removes what killed hosts have left. Locks, unlike pids, are seen from any container."""
    for place in below.glob(f"{PREFIX}*"):
        with suppress(OSError), locked(place, fcntl.LOCK_EX | fcntl.LOCK_NB):
            shutil.rmtree(place)


async def make_template(url: str) -> None:
    connection = await asyncpg.connect(url)
    # There is one already when an earlier host was killed.
    await connection.execute(f"DROP DATABASE IF EXISTS {TEMPLATE} WITH (FORCE)")
    await connection.execute(f"CREATE DATABASE {TEMPLATE}")
    await connection.close()
    await migrate(with_database(url, TEMPLATE))


def publish(directory: Path, services: Services) -> None:
    draft = directory / "ready.new"
    draft.write_text(json.dumps(asdict(services)))
    draft.rename(directory / "ready")


if __name__ == "__main__":
    place = Path(sys.argv[1])
    with opened(place / "host") as mine:
        fcntl.flock(mine, fcntl.LOCK_EX)
        asyncio.run(main(place))
