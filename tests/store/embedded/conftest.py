"""Supervisors in separate processes, which can be killed."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from deemster.store.embedded import Cluster, run_cluster
from tests.services.clusters import place_cluster
from tests.services.postgres import HASTY
from tests.waiting import PATIENCE_S

SUPERVISOR = Path(__file__).with_name("supervisor.py")


@dataclass(frozen=True, slots=True)
class Supervisor:
    process: asyncio.subprocess.Process

    async def answer(self) -> dict[str, str]:
        """Reads the URL of its cluster, or its error."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            line = await self.process.stdout.readline()
        found: dict[str, str] = json.loads(line)
        return found

    async def ended(self) -> int:
        async with asyncio.timeout(PATIENCE_S):
            return await self.process.wait()


@asynccontextmanager
async def supervisor(
    data_dir: Path, *, before: Sequence[str] = (), **variables: str
) -> AsyncIterator[Supervisor]:
    """Runs a cluster until its standard input ends; `before` precedes its command."""
    process = await asyncio.create_subprocess_exec(
        *before,
        *(sys.executable, str(SUPERVISOR), str(data_dir)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, **variables},
    )
    try:
        yield Supervisor(process)
    finally:
        if process.returncode is None:
            assert process.stdin is not None
            process.stdin.close()
            async with asyncio.timeout(PATIENCE_S):
                await process.wait()


def new_cluster(data_dir: Path) -> AbstractAsyncContextManager[Cluster]:
    """Runs initdb where there is no cluster."""
    return run_cluster(data_dir, settings=HASTY)


@asynccontextmanager
async def fast_cluster(data_dir: Path) -> AsyncIterator[Cluster]:
    """For tests of what comes after initdb."""
    await asyncio.to_thread(place_cluster, data_dir)
    async with new_cluster(data_dir) as cluster:
        yield cluster


async def ask(url: str, query: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        answer: object = await connection.fetchval(query)
        return answer
    finally:
        await connection.close()


def is_alive(pid: int) -> bool:
    with suppress(OSError):
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        return state not in "ZX"
    return False
