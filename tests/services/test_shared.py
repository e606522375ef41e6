"""The shared servers live as long as anyone uses them, however users end."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import redis.asyncio as redis_client

from deemster.locks import lock_directory
from tests.services import host
from tests.services.host import PREFIX, claimed_directory, sweep
from tests.services.shared import ROOT, is_running
from tests.waiting import PATIENCE_S, until

USER = """
import json, os, sys
from dataclasses import asdict
from pathlib import Path
from tests.services.shared import joined
with joined(Path(sys.argv[1])) as services:
    print(json.dumps(asdict(services)), flush=True)
    sys.stdin.read()
"""


class User:
    """A process that uses the servers until its input ends."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def told(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            answer: dict[str, Any] = json.loads(await self.process.stdout.readline())
        return answer

    async def kill(self) -> None:
        self.process.kill()
        await self.process.wait()

    async def leave(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        async with asyncio.timeout(PATIENCE_S):
            assert await self.process.wait() == 0


@asynccontextmanager
async def user(directory: Path) -> AsyncIterator[User]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", USER, str(directory)),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield User(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def servers_below(directory: Path) -> list[str]:
    """Command lines of processes that know the directory, and the servers among them."""
    found = []
    for path in Path("/proc").iterdir():
        if path.name.isdecimal() and int(path.name) != os.getpid():
            try:
                words = (path / "cmdline").read_text(errors="replace").split("\0")
                place = str((path / "cwd").readlink())
            except OSError:
                continue
            if str(directory) in " ".join([*words, place]):
                found.append(" ".join(words))
    return found


async def until_nothing_is_left(directory: Path) -> None:
    await until(
        lambda: not servers_below(directory) and not (directory / "servers").exists(),
        why=lambda: servers_below(directory),
    )


async def test_killed_users_leave_nothing_and_others_are_not_disturbed(tmp_path: Path) -> None:
    async with user(tmp_path) as first, user(tmp_path) as second:
        told = await first.told()
        assert await second.told() == told
        await first.kill()
        connection = await asyncpg.connect(told["postgres_url"])
        assert await connection.fetchval("SELECT 1") == 1
        await connection.close()
        assert servers_below(tmp_path)
        await second.kill()
        await until_nothing_is_left(tmp_path)


async def test_the_one_who_started_them_waits_until_they_have_ended(tmp_path: Path) -> None:
    async with user(tmp_path) as first:
        await first.told()
        await first.leave()
        assert not servers_below(tmp_path)
        assert not (tmp_path / "servers").exists()


async def test_when_the_host_was_killed_the_next_user_gets_new_servers(tmp_path: Path) -> None:
    async with user(tmp_path) as first:
        await first.told()
        os.kill(int(children(first.process.pid)[0]), signal.SIGKILL)
        await until(lambda: not is_running(tmp_path))
        async with user(tmp_path) as second:
            new = await second.told()
            async with redis_client.from_url(new["redis_url"]) as client:
                assert await client.ping()
            connection = await asyncpg.connect(new["postgres_url"])
            assert await connection.fetchval("SELECT 1") == 1
            await connection.close()


def test_a_sweep_removes_what_killed_hosts_left_and_nothing_of_those_that_live(
    tmp_path: Path,
) -> None:
    left, of_others = tmp_path / f"{PREFIX}left", tmp_path / "of-others"
    left.mkdir()
    of_others.mkdir()
    with claimed_directory(tmp_path) as mine:
        sweep(tmp_path)
        assert set(tmp_path.iterdir()) == {mine, of_others}
    assert set(tmp_path.iterdir()) == {of_others}


def test_a_directory_that_is_swept_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path] = []

    def lock(place: Path, kind: int) -> int:
        made.append(place)
        if len(made) == 1:
            sweep(tmp_path)
        return lock_directory(place, kind)

    monkeypatch.setattr(host, "lock_directory", lock)
    with claimed_directory(tmp_path) as mine:
        assert mine == made[1]
        assert not made[0].exists()


def children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
