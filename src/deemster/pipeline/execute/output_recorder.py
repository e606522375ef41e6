"""Stores the output of running executions soon after it was written, all in one statement."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, Self

import structlog

from deemster.domain.errors import Unavailable
from deemster.domain.execution import OutputChunk, Stream
from deemster.domain.ids import ExecutionId
from deemster.store import executions
from deemster.store.notifications import notify_output
from deemster.store.pool import Pool, transaction

log = structlog.get_logger()

FIRST_S: Final = 0.015
"""Output waits this long, so that a short program needs no write but its last."""
RETRY_S: Final = 0.5
MOST_PENDING: Final = 64
"""A program that changes the stream with each byte must not make a chunk of each byte: beyond
this number, output is added to the last chunk of its stream."""


TAIL_BYTES: Final = 4096


class OutputLog:
    """The output of one attempt, numbered in the order in which it was read."""

    def __init__(
        self, execution: ExecutionId, attempt: int, on_output: Callable[[], None]
    ) -> None:
        self.execution = execution
        self.attempt = attempt
        self.pending: list[OutputChunk] = []
        self._on_output = on_output
        self._number = 0
        self._taken = 0
        """Number of the last chunk that may be stored; it must not grow any more."""
        self._tail = b""
        self._started = time.monotonic()

    def restart_clock(self) -> None:
        """The program starts now; before, it was compiled."""
        self._started = time.monotonic()

    def sink(self, stream: Stream) -> Callable[[bytes], None]:
        return lambda data: self.add(stream, data)

    def add(self, stream: Stream, data: bytes) -> None:
        if not data:
            return
        self._tail = (self._tail + data)[-TAIL_BYTES:]
        index = self._mergeable(stream)
        if index is None:
            self._number += 1
            at_ms = round((time.monotonic() - self._started) * 1000)
            self.pending.append(OutputChunk(self.attempt, self._number, stream, at_ms, data))
        else:
            last = self.pending[index]
            self.pending[index] = OutputChunk(
                last.attempt, last.number, stream, last.at_ms, last.content + data
            )
        self._on_output()

    def end_of_stderr(self) -> bytes:
        """The last of what a language runtime may have said; a terminal has one stream."""
        return bytes(self._tail)

    def clear(self) -> None:
        """Drops what is not stored yet: of several runs, the last one's output counts."""
        self.pending = []

    def take(self) -> list[OutputChunk]:
        """Removes what is pending, to store it."""
        taken, self.pending = self.pending, []
        self._taken = self._number
        return taken

    def give_back(self, chunks: list[OutputChunk]) -> None:
        """Nobody knows whether they were stored: they will be stored again, as they are."""
        self.pending[:0] = chunks

    def _mergeable(self, stream: Stream) -> int | None:
        growing = [at for at, each in enumerate(self.pending) if each.number > self._taken]
        if growing and self.pending[-1].stream is stream:
            return growing[-1]
        if len(growing) < MOST_PENDING:
            return None
        return next((at for at in reversed(growing) if self.pending[at].stream is stream), None)


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
        async with asyncio.TaskGroup() as group:
            task = group.create_task(recorder._run())
            try:
                yield recorder
            finally:
                task.cancel()

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
