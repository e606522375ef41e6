"""Holds the servers that all test processes of a run share, until the last of them has left."""

import asyncio
import fcntl
import json
import os
import shutil
import sys
from dataclasses import asdict
from pathlib import Path

import asyncpg

from deemster.store.migrations import migrate
from tests.services.postgres import HASTY, OwnPostgres, with_database
from tests.services.redis import OwnRedis
from tests.services.shared import Services, opened

TEMPLATE = "deemster_template"
MEMORY = Path("/dev/shm")
PREFIX = "deemster-tests-"
ROOM_BYTES = 2 << 30


async def main(directory: Path) -> None:
    data = make_place(directory)
    async with OwnPostgres(data, HASTY) as postgres, OwnRedis(data / "redis") as redis:
        await make_template(postgres.url)
        publish(directory, Services(postgres.url, TEMPLATE, redis.url))
        with opened(directory / "users") as users:
            await asyncio.to_thread(fcntl.flock, users, fcntl.LOCK_EX)
            (directory / "ready").unlink()
            await postgres.stop()
    shutil.rmtree(data)


def make_place(directory: Path) -> Path:
    """In memory, where there is such a place: on a disk, dropping a database takes longer than
    most tests.
    """
    if not MEMORY.is_dir() or shutil.disk_usage(MEMORY).free < ROOM_BYTES:
        return directory / "servers"
    for left in MEMORY.glob(f"{PREFIX}*"):  # by a host that was killed
        if not Path("/proc", left.name.removeprefix(PREFIX)).exists():
            shutil.rmtree(left, ignore_errors=True)
    place = MEMORY / f"{PREFIX}{os.getpid()}"
    place.mkdir(mode=0o700)
    return place


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
