"""Runs test cases in order, some of them ahead of time, and cancels unneeded ones."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from deemster.domain.problem import Case
from deemster.pipeline.judge.case_judge import CaseOutcome

JudgeOne = Callable[[Case], Coroutine[Any, Any, CaseOutcome]]

AHEAD = 8
"""How many cases after the requested one may start, although they may not be needed."""


class CaseScheduler:
    """Runs up to `width` cases at once; `result` waits for one of them."""

    def __init__(
        self, group: asyncio.TaskGroup, cases: Sequence[Case], judge_one: JudgeOne, width: int
    ) -> None:
        self._group = group
        self._judge_one = judge_one
        self._width = width
        self._position = {case.name: position for position, case in enumerate(cases)}
        self._requested = 0
        self._waiting = deque(cases)
        self._running: dict[str, asyncio.Task[CaseOutcome]] = {}
        loop = asyncio.get_running_loop()
        self._results: dict[str, asyncio.Future[CaseOutcome]] = {
            case.name: loop.create_future() for case in cases
        }

    @classmethod
    @asynccontextmanager
    async def open(
        cls, cases: Sequence[Case], judge_one: JudgeOne, width: int
    ) -> AsyncIterator["CaseScheduler"]:
        """Cancels the cases that still run at the end of the block."""
        try:
            async with asyncio.TaskGroup() as group:
                scheduler = cls(group, cases, judge_one, width)
                scheduler._start_more()
                try:
                    yield scheduler
                finally:
                    scheduler.skip(cases)
        except BaseExceptionGroup as faults:
            # The first failure cancelled the other cases; the caller needs only that one.
            raise faults.exceptions[0] from None

    async def result(self, case: Case) -> CaseOutcome:
        self._requested = self._position[case.name]
        self._start_more()
        return await self._results[case.name]

    def skip(self, cases: Iterable[Case]) -> None:
        """Cancels cases whose results are not needed."""
        skipped = {case.name for case in cases}
        self._waiting = deque(case for case in self._waiting if case.name not in skipped)
        for name in skipped & self._running.keys():
            self._running[name].cancel()
        self._start_more()

    def _start_more(self) -> None:
        while self._waiting and len(self._running) < self._width:
            if self._position[self._waiting[0].name] > self._requested + AHEAD:
                return
            case = self._waiting.popleft()
            task = self._group.create_task(self._judge_one(case))
            self._running[case.name] = task
            task.add_done_callback(partial(self._ended, case))

    def _ended(self, case: Case, task: asyncio.Task[CaseOutcome]) -> None:
        del self._running[case.name]
        if task.cancelled():
            self._start_more()
        elif task.exception() is not None:
            self._waiting.clear()  # the task group is being cancelled
        else:
            self._results[case.name].set_result(task.result())
            self._start_more()
