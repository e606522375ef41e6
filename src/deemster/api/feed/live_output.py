"""Follows the output and states of running executions, for streams and terminals (E5, E8)."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import structlog

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


@dataclass(frozen=True, slots=True)
class OutputCursor:
    """The last chunk that a reader has seen."""

    attempt: int = 0
    number: int = 0


LiveEvent = OutputChunk | ExecutionView | CompileResult | None
"""A chunk of output, a new state, that the program was compiled, or nothing for a while."""


class LiveOutput:
    def __init__(self, pool: Pool, wait: Callable[[float], Awaitable[object]]) -> None:
        """`wait` returns the ids of executions with output, with spaces between them."""
        self._pool = pool
        self._wait = wait
        self._watchers: dict[str, set[asyncio.Event]] = defaultdict(set)

    async def run(self) -> None:
        while True:
            found = await self._wait(60)
            for payload in found if isinstance(found, list) else ():
                for execution in str(payload).split():
                    self.wake(execution)

    def wake(self, work: str) -> None:
        for watcher in self._watchers.get(work, ()):
            watcher.set()

    async def follow(
        self, execution: ExecutionId, after: OutputCursor
    ) -> AsyncIterator[LiveEvent]:
        """Yields chunks and states in order, until the execution has ended and all its output
        was read; None about once a second if there is nothing.
        """
        state: State | None = None
        compiled: CompileResult | None = None
        with self._watching(execution) as watcher:
            while True:
                watcher.clear()
                try:
                    async with connection(self._pool) as acquired:
                        # The state first: what is written before the end is read after it.
                        view = await executions.get(acquired, execution)
                        chunks = await executions.output_after(
                            acquired, execution, attempt=after.attempt, number=after.number
                        )
                except Unavailable:
                    await asyncio.sleep(POLL_S)
                    yield None
                    continue
                if view is None:
                    return  # deleted meanwhile
                has_ended = view.state in TERMINAL
                if not has_ended and view.state is not state:
                    state = view.state
                    yield view
                if not has_ended and view.compile is not None and view.compile != compiled:
                    compiled = view.compile
                    yield compiled
                for chunk in chunks:
                    after = OutputCursor(chunk.attempt, chunk.number)
                    yield chunk
                if len(chunks) == CHUNKS_READ:
                    continue
                if has_ended:
                    yield view
                    return
                if not await wait_for(watcher):
                    yield None

    @contextmanager
    def _watching(self, execution: ExecutionId) -> Iterator[asyncio.Event]:
        watcher = asyncio.Event()
        self._watchers[execution].add(watcher)
        try:
            yield watcher
        finally:
            self._watchers[execution].discard(watcher)
            if not self._watchers[execution]:
                del self._watchers[execution]


async def wait_for(watcher: asyncio.Event) -> bool:
    """Returns False after the pause without a notice."""
    try:
        async with asyncio.timeout(POLL_S):
            await watcher.wait()
    except TimeoutError:
        return False
    return True
