"""The app with the compatible APIs, and a worker that finds what the test says."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

import pytest

from deemster.api.app import create_app
from deemster.api.executions import ShownExecution
from deemster.domain.errors import LostRace
from deemster.domain.execution import (
    CompileResult,
    ExecutionDetails,
    ExecutionLimits,
    ExecutionOptions,
    ExecutionResult,
    ExecutionView,
    OutputChunk,
    ProgramIo,
    Stream,
)
from deemster.domain.ids import WORKER, AccountId, ExecutionId, WorkerId, WorkId, new_id
from deemster.domain.job import Task
from deemster.domain.lifecycle import State
from deemster.domain.run_status import RunStatus
from deemster.pipeline.verdict.attempt import Caps, settle_execution
from deemster.store import executions, workers
from deemster.store.pool import Connection, Pool, connection
from tests.api.conftest import Api, MakeDependencies, make_user, running
from tests.builders import start
from tests.waiting import until

VERSIONS = {
    "python3": "CPython 3.11.2",
    "c": "GCC 12.2.0 (Debian 12.2.0-14)",
    "javascript": "Node.js 18.20.4",
}
GOOD = ExecutionResult(RunStatus.OK, exit_code=0, cpu_ms=12.4, wall_ms=20.6, memory_kb=2048)
COMPILED = CompileResult(RunStatus.OK, "a warning", 70)
Output = Sequence[tuple[Stream, bytes]]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SettlingWorker:
    """Settles the next execution with a result that the test chose."""

    pool: Pool
    id: WorkerId

    async def answer(
        self,
        request: Awaitable[T],
        result: ExecutionResult = GOOD,
        output: Output = (),
    ) -> tuple[T, ExecutionDetails]:
        async with asyncio.TaskGroup() as group:
            asked = group.create_task(as_coroutine(request))
            # A request that is refused starts no execution.
            found = await until(lambda: self._next_or_answer(asked))
            assert isinstance(found, str), found
            details = await self._settle(ExecutionId(found), result, output)
            return await asked, details

    @asynccontextmanager
    async def settling_all(self) -> AsyncIterator[None]:
        """Within the block, every execution ends well at once."""
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self._settle_all())
            yield
            task.cancel()

    async def _settle_all(self) -> None:
        while True:
            found = await until(self._next)
            with suppress(LostRace):  # the client did not wait
                await self._settle(ExecutionId(str(found)), GOOD, ())

    async def _settle(
        self, execution: ExecutionId, result: ExecutionResult, output: Output
    ) -> ExecutionDetails:
        details = await start(
            self.pool,
            execution,
            self.id,
            task=Task.EXECUTE,
            read=read_execution,
            lease_s=60,
            caps=Caps(),
            languages=VERSIONS,
        )
        chunks = [
            OutputChunk(details.attempt, number, stream, 0, content)
            for number, (stream, content) in enumerate(output, start=1)
        ]
        await settle_execution(self.pool, details, result, chunks)
        return details

    async def _next_or_answer(self, asked: asyncio.Task[T]) -> object:
        was_done = asked.done()  # before the look, so that an accepted one is found
        return await self._next() or (asked.result() if was_done else None)

    async def _next(self) -> str | None:
        async with connection(self.pool) as acquired:
            found: str | None = await acquired.fetchval(
                "SELECT id FROM work WHERE state = 'PENDING'"
            )
        return found


async def as_coroutine(request: Awaitable[T]) -> T:
    return await request


async def read_execution(acquired: Connection, work: WorkId) -> ExecutionDetails | None:
    return await executions.details(acquired, ExecutionId(work))


async def add_worker(pool: Pool, versions: dict[str, str]) -> SettlingWorker:
    worker = WorkerId(new_id(WORKER))
    async with connection(pool) as acquired:
        await workers.register(
            acquired, worker, host="here", process="1", slots=2, versions=versions
        )
        await acquired.execute("UPDATE worker SET seen_at = now() + interval '1 hour'")
    return SettlingWorker(pool, worker)


@pytest.fixture
async def worker(pool: Pool) -> SettlingWorker:
    return await add_worker(pool, VERSIONS)


COMPAT = ["jobe", "mcp", "piston", "sandboxfusion"]


@asynccontextmanager
async def compatible(
    make_dependencies: MakeDependencies, pool: Pool, **settings: object
) -> AsyncIterator[Api]:
    app = create_app(make_dependencies(compat=COMPAT, **settings))
    async with running(app) as client:
        yield Api(client, await make_user(pool, "ada"))


@pytest.fixture
async def ada(make_dependencies: MakeDependencies, pool: Pool) -> AsyncIterator[Api]:
    async with compatible(make_dependencies, pool) as api:
        yield api


def shown(
    result: ExecutionResult | None,
    *,
    stdout: bytes = b"",
    stderr: bytes = b"",
    state: State = State.COMPLETED,
    failure: str | None = None,
) -> ShownExecution:
    """An execution that has ended."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    view = ExecutionView(
        id=ExecutionId("exe_1"),
        account=AccountId("usr_1"),
        account_name="ada",
        language="c",
        main="main.c",
        state=state,
        attempt=1,
        io=ProgramIo.BATCH,
        limits=ExecutionLimits(),
        options=ExecutionOptions(),
        args=[],
        client=None,
        session=None,
        webhook_url=None,
        submitted_at=now,
        started_at=now,
        finished_at=now,
        failure=failure,
        result=result,
    )
    return ShownExecution(view, {Stream.STDOUT: stdout, Stream.STDERR: stderr})
