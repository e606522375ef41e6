"""Grades the tree of test groups: runs cases in order, stops early, adds up scores."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from deemster.domain.judgement import FaultCause, GroupScore
from deemster.domain.problem import Case, CustomGrader, Group, StaticCheck, Subtask
from deemster.domain.scoring import (
    LOCKED,
    ScoredVerdict,
    ScoreFault,
    grade_by_default,
    grade_subtask,
    points_of_static,
    score_case,
    stops,
)
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.case_judge import CaseOutcome
from deemster.pipeline.judge.jury.checker import CheckResult

RunGrader = Callable[[CustomGrader, Sequence[ScoredVerdict]], Awaitable[ScoredVerdict]]
RunStatic = Callable[[StaticCheck], Awaitable[CheckResult]]
OnGraded = Callable[[Case, ScoredVerdict], None]


JudgeOne = Callable[[Case], Coroutine[Any, Any, CaseOutcome]]

AHEAD = 8
"""How many cases after the requested one may start, although they may not be needed."""


class CaseScheduler:
    """Runs up to `width` cases at once; `result` waits for one of them.

    With a width of 1, `result` runs the case itself, which costs less than a task for it.
    """

    def __init__(
        self, group: asyncio.TaskGroup, cases: Sequence[Case], judge_one: JudgeOne, width: int
    ) -> None:
        self._group = group
        self._judge_one = judge_one
        self._width = width
        self._position = {case.name: position for position, case in enumerate(cases)}
        self._requested = 0
        self._waiting = deque(cases if width > 1 else ())
        self._running: dict[str, asyncio.Task[CaseOutcome]] = {}
        loop = asyncio.get_running_loop()
        self._results: dict[str, asyncio.Future[CaseOutcome]] = {
            case.name: loop.create_future() for case in self._waiting
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
        if self._width == 1:
            return await self._judge_one(case)
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


class GroupGrader:
    def __init__(
        self,
        scheduler: CaseScheduler,
        run_grader: RunGrader,
        run_static: RunStatic,
        on_graded: OnGraded,
    ) -> None:
        self._scheduler = scheduler
        self._run_grader = run_grader
        self._run_static = run_static
        self._on_graded = on_graded
        self._passed: set[str] = set()
        self.groups: list[GroupScore] = []
        self.faults: list[str] = []
        self.cause: FaultCause | None = None
        """Cause of the first fault."""

    async def grade(self, group: Group) -> ScoredVerdict | None:
        """The result of the group; None if it has no cases."""
        if isinstance(group.grading, Subtask) and not self._passed.issuperset(
            group.grading.requires
        ):
            self._scheduler.skip(group.cases())
            self._record_skipped(group)
            return LOCKED
        results = await self._judge_items(group)
        if not results:
            return None
        return self._record(group, await self._grade(group, results))

    async def _judge_items(self, group: Group) -> list[ScoredVerdict]:
        results: list[ScoredVerdict] = []
        if group.static is not None:
            results.append(await self._judge_static(group, group.static))
        for position, item in enumerate(group.items):
            if results and stops(group, results[-1]):
                self._skip(group.items[position:])
                break
            if isinstance(item, Group):
                result = await self.grade(item)
            else:
                result = await self._judge_case(group, item)
            if result is not None:
                results.append(result)
        return results

    def _skip(self, items: Sequence[Group | Case]) -> None:
        for item in items:
            if isinstance(item, Group):
                self._scheduler.skip(item.cases())
                self._record_skipped(item)
            else:
                self._scheduler.skip([item])

    async def _judge_case(self, group: Group, case: Case) -> ScoredVerdict:
        outcome = await self._scheduler.result(case)
        if outcome.verdict is Verdict.JUDGE_ERROR:
            self.add_fault(FaultCause.CHECKER, f"{case.name}: {outcome.message.reveal()}")
        try:
            result = score_case(group, case, outcome.verdict, outcome.score)
        except ScoreFault as fault:
            result = self._fault(FaultCause.SCORE, str(fault))
        self._on_graded(case, result)
        return result

    async def _judge_static(self, group: Group, static: StaticCheck) -> ScoredVerdict:
        checked = await self._run_static(static)
        if checked.verdict is Verdict.JUDGE_ERROR:
            return self._fault(FaultCause.STATIC_VALIDATOR, checked.jury_message)
        if checked.verdict is not Verdict.ACCEPTED:
            return ScoredVerdict(checked.verdict, 0.0)
        try:
            return ScoredVerdict(
                checked.verdict, points_of_static(group, static, checked.score)
            )
        except ScoreFault as fault:
            return self._fault(FaultCause.SCORE, str(fault))

    async def _grade(self, group: Group, results: Sequence[ScoredVerdict]) -> ScoredVerdict:
        if any(result.verdict is Verdict.JUDGE_ERROR for result in results):
            return ScoredVerdict(Verdict.JUDGE_ERROR)
        if isinstance(group.grading, CustomGrader):
            graded = await self._run_grader(group.grading, results)
            if graded.verdict is Verdict.JUDGE_ERROR:
                what = group.name or "the tests"
                self.add_fault(
                    FaultCause.GRADER, f"The grader gave no valid result for {what}."
                )
            return graded
        if isinstance(group.grading, Subtask):
            try:
                return grade_subtask(group, group.grading, results)
            except ScoreFault as fault:
                return self._fault(FaultCause.SCORE, str(fault))
        return grade_by_default(group.grading, results)

    def add_fault(self, cause: FaultCause, message: str) -> None:
        self.faults.append(message)
        self.cause = self.cause or cause

    def _fault(self, cause: FaultCause, message: str) -> ScoredVerdict:
        self.add_fault(cause, message)
        return ScoredVerdict(Verdict.JUDGE_ERROR)

    def _record(self, group: Group, result: ScoredVerdict) -> ScoredVerdict:
        if result.accepted:
            self._passed.add(group.name)
        self.groups.append(
            GroupScore(group.name, result.verdict, result.score, max_score_of(group))
        )
        return result

    def _record_skipped(self, group: Group) -> None:
        for item in group.items:
            if isinstance(item, Group):
                self._record_skipped(item)
        score = 0.0 if isinstance(group.grading, Subtask) else None
        self.groups.append(GroupScore(group.name, None, score, max_score_of(group)))


def max_score_of(group: Group) -> float | None:
    return group.grading.max_score if isinstance(group.grading, Subtask) else None
