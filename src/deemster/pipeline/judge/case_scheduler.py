"""Runs cases in their order, some ahead of need, and drops those that turn out needless."""

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
"""How many cases beyond the one that is asked for may be begun: they may turn out needless."""


class CaseScheduler:
    """Up to `width` cases run at once; `result` waits for one of them."""

    def __init__(
        self, group: asyncio.TaskGroup, cases: Sequence[Case], judge_one: JudgeOne, width: int
    ) -> None:
        self._group = group
        self._judge_one = judge_one
        self._width = width
        self._place = {case.name: place for place, case in enumerate(cases)}
        self._asked = 0
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
        """Leaving the block ends all that still runs."""
        try:
            async with asyncio.TaskGroup() as group:
                line = cls(group, cases, judge_one, width)
                line._begin_more()
                try:
                    yield line
                finally:
                    line.skip(cases)
        except BaseExceptionGroup as faults:
            # The first that failed ended the others; the caller wants it, not a group.
            raise faults.exceptions[0] from None

    async def result(self, case: Case) -> CaseOutcome:
        self._asked = self._place[case.name]
        self._begin_more()
        return await self._results[case.name]

    def skip(self, cases: Iterable[Case]) -> None:
        """Nobody will ask for these."""
        needless = {case.name for case in cases}
        self._waiting = deque(case for case in self._waiting if case.name not in needless)
        for name in needless & self._running.keys():
            self._running[name].cancel()
        self._begin_more()

    def _begin_more(self) -> None:
        while self._waiting and len(self._running) < self._width:
            if self._place[self._waiting[0].name] > self._asked + AHEAD:
                return
            case = self._waiting.popleft()
            task = self._group.create_task(self._judge_one(case))
            self._running[case.name] = task
            task.add_done_callback(partial(self._ended, case))

    def _ended(self, case: Case, task: asyncio.Task[CaseOutcome]) -> None:
        del self._running[case.name]
        if task.cancelled():
            self._begin_more()
        elif task.exception() is not None:
            self._waiting.clear()  # the group is being taken down
        else:
            self._results[case.name].set_result(task.result())
            self._begin_more()
