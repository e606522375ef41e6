"""Brings what people type to the worker that runs their program."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, Self

import structlog

from deemster.background_task import background_task
from deemster.domain.errors import Unavailable
from deemster.domain.execution import TypedInput
from deemster.domain.ids import ExecutionId
from deemster.store import executions
from deemster.store.executions import CHUNKS_READ
from deemster.store.notifications import Listener
from deemster.store.pool import Pool, connection

log = structlog.get_logger()

POLL_S: Final = 1.0
"""Pause between two looks without a notice, because notices may get lost."""


class TypedInputs:
    """Wakes the runs of this worker when somebody has typed."""

    def __init__(self, pool: Pool, listener: Listener) -> None:
        self._pool = pool
        self._listener = listener
        self._waiting: dict[str, asyncio.Event] = {}

    @classmethod
    @asynccontextmanager
    async def open(cls, pool: Pool, listener: Listener) -> AsyncIterator[Self]:
        inputs = cls(pool, listener)
        async with background_task(inputs._run()):
            yield inputs

    async def follow(self, execution: ExecutionId) -> AsyncIterator[TypedInput]:
        """All that is typed, from the beginning: a program that is started again gets it
        again. It never ends.
        """
        typed = self._waiting[execution] = asyncio.Event()
        last = 0
        try:
            while True:
                typed.clear()
                found = await self._read(execution, last)
                for each in found:
                    last = each.id
                    yield each
                if len(found) < CHUNKS_READ:
                    await wait_for(typed)
        finally:
            if self._waiting.get(execution) is typed:
                del self._waiting[execution]

    async def _read(self, execution: ExecutionId, after: int) -> list[TypedInput]:
        try:
            async with connection(self._pool) as acquired:
                return await executions.input_after(acquired, execution, after)
        except Unavailable as fault:
            log.warning("input.not_read", executionId=execution, error=str(fault))
            return []

    async def _run(self) -> None:
        while True:
            for execution in await self._listener.wait(60):
                if execution in self._waiting:
                    self._waiting[execution].set()


async def wait_for(typed: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(POLL_S):
            await typed.wait()
    except TimeoutError:
        pass
