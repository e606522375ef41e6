"""Follows the output and states of running executions, for streams and terminals (E5, E8)."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

import structlog

from deemster.api.feed.watchers import Watchers
from deemster.domain.errors import Unavailable
from deemster.domain.execution import CompileResult, ExecutionView, OutputChunk
from deemster.domain.ids import ExecutionId
from deemster.domain.lifecycle import TERMINAL, State
from deemster.store import executions
from deemster.store.executions import CHUNKS_READ
from deemster.store.pool import Pool, connection

log = structlog.get_logger()

POLL_S: Final = 1.0
"""Pause between two looks without a notice, because notices may get lost."""
CHECK_S: Final = 15.0
"""Time between two checks whether the reader is still authorised."""


@dataclass(frozen=True, slots=True)
class OutputCursor:
    """The last chunk that a reader has seen."""

    attempt: int = 0
    number: int = 0


LiveEvent = OutputChunk | ExecutionView | CompileResult | None
"""A chunk of output, a new state, that the program was compiled, or nothing for a while."""


async def always() -> bool:
    return True


class LiveOutputFeed:
    def __init__(self, pool: Pool, wait: Callable[[float], Awaitable[object]]) -> None:
        """`wait` returns the ids of executions with output, with spaces between them."""
        self._pool = pool
        self._wait = wait
        self._watchers = Watchers()
        self._is_draining = False

    async def run(self) -> None:
        while True:
            found = await self._wait(60)
            for payload in found if isinstance(found, list) else ():
                for execution in str(payload).split():
                    self.wake(execution)

    def wake(self, work: str) -> None:
        self._watchers.wake(work)

    def drain(self) -> None:
        """Ends all readers before the process ends; they come back to another one."""
        self._is_draining = True
        self._watchers.wake_all()

    async def follow(
        self,
        execution: ExecutionId,
        after: OutputCursor,
        is_authorised: Callable[[], Awaitable[bool]] = always,
    ) -> AsyncGenerator[LiveEvent, None]:
        """Yields chunks and states in order, until the execution has ended and all its output
        was read; None about once a second if there is nothing. It ends before if the process
        does, or if the reader is no longer authorised. Close it if you leave it earlier.
        """
        check_s = time.monotonic() + CHECK_S
        async with aclosing(self._follow(execution, after)) as events:
            async for each in events:
                if time.monotonic() >= check_s:
                    if not await is_authorised():
                        return
                    check_s = time.monotonic() + CHECK_S
                yield each

    async def _follow(
        self, execution: ExecutionId, after: OutputCursor
    ) -> AsyncGenerator[LiveEvent, None]:
        shown: tuple[State, int] | None = None
        compiled: CompileResult | None = None
        with self._watchers.watching(execution) as watcher:
            while not self._is_draining:
                watcher.clear()
                try:
                    view, chunks = await self._read(execution, after)
                except Unavailable:
                    await asyncio.sleep(POLL_S)
                    yield None
                    continue
                if view is None:
                    return  # deleted meanwhile
                if view.state not in TERMINAL and (view.state, view.attempt) != shown:
                    shown = view.state, view.attempt
                    yield view
                if view.state not in TERMINAL and view.compile not in (None, compiled):
                    compiled = view.compile
                    yield compiled
                for chunk in chunks:
                    after = OutputCursor(chunk.attempt, chunk.number)
                    yield chunk
                if len(chunks) == CHUNKS_READ:
                    continue
                if view.state in TERMINAL:
                    yield view
                    return
                if not await wait_for(watcher):
                    yield None

    async def _read(
        self, execution: ExecutionId, after: OutputCursor
    ) -> tuple[ExecutionView | None, list[OutputChunk]]:
        """Reads the state first: what is written before the end is read after it."""
        async with connection(self._pool) as acquired:
            view = await executions.get(acquired, execution)
            return view, await executions.output_after(
                acquired, execution, attempt=after.attempt, number=after.number
            )


async def wait_for(watcher: asyncio.Event) -> bool:
    """Returns False after the pause without a notice."""
    try:
        async with asyncio.timeout(POLL_S):
            await watcher.wait()
    except TimeoutError:
        return False
    return True
