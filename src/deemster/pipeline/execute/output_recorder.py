"""Stores the output of running executions soon after it was written, all in one statement."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, Self

import structlog

from deemster.background_task import background_task
from deemster.domain.errors import Unavailable
from deemster.domain.ids import ExecutionId
from deemster.pipeline.execute.output_log import OutputLog
from deemster.store import executions
from deemster.store.notifications import notify_output
from deemster.store.pool import Pool, transaction

log = structlog.get_logger()

FIRST_S: Final = 0.015
"""Output waits this long, so that a short program needs no write but its last."""
RETRY_S: Final = 0.5


class OutputRecorder:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._logs: dict[ExecutionId, OutputLog] = {}
        self._has_output = asyncio.Event()
        self._writing = asyncio.Lock()

    @classmethod
    @asynccontextmanager
    async def open(cls, pool: Pool) -> AsyncIterator[Self]:
        recorder = cls(pool)
        async with background_task(recorder._run()):
            yield recorder

    @asynccontextmanager
    async def recording(
        self, execution: ExecutionId, attempt: int, *, is_live: bool
    ) -> AsyncIterator[OutputLog]:
        """Within the block, output is stored while the program runs, if it is live.

        What is pending after the block is to be stored with the result.
        """
        output = OutputLog(execution, attempt, self._has_output.set)
        if is_live:
            self._logs[execution] = output
        try:
            yield output
        finally:
            # A write that fails returns its chunks.
            async with self._writing:
                if self._logs.get(execution) is output:  # not that of a newer attempt
                    del self._logs[execution]

    async def _run(self) -> None:
        while True:
            await self._has_output.wait()
            await asyncio.sleep(FIRST_S)
            self._has_output.clear()
            try:
                await self._write()
            except Unavailable as fault:
                log.warning("output.not_stored", error=str(fault))
                await asyncio.sleep(RETRY_S)
                self._has_output.set()
            except Exception:  # output that is not shown at once must not end the worker
                log.exception("output.crashed")
                await asyncio.sleep(RETRY_S)
                self._has_output.set()

    async def _write(self) -> None:
        async with self._writing:
            taken = [(each, each.take()) for each in self._logs.values() if each.pending]
            if not taken:
                return
            try:
                async with transaction(self._pool) as connection:
                    await executions.add_output(
                        connection,
                        ((each.execution, chunk) for each, chunks in taken for chunk in chunks),
                    )
                    await notify_output(connection, [each.execution for each, _ in taken])
            except BaseException:
                for output, chunks in taken:
                    output.give_back(chunks)
                raise
