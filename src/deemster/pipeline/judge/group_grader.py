"""Grades the tree of test groups: requests results in order, stops early, adds up scores."""

from collections.abc import Awaitable, Callable, Sequence

from deemster.domain.judgement import GroupScore
from deemster.domain.problem import Case, CustomGrader, Group, StaticCheck, Subtask
from deemster.domain.scoring import (
    LOCKED,
    Result,
    ScoreFault,
    grade_by_default,
    grade_subtask,
    points_of_static,
    score_case,
    stops,
)
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.case_scheduler import CaseScheduler
from deemster.pipeline.judge.jury.checker import CheckResult

RunGrader = Callable[[CustomGrader, Sequence[Result]], Awaitable[Result]]
RunStatic = Callable[[StaticCheck], Awaitable[CheckResult]]


class GroupGrader:
    def __init__(
        self, scheduler: CaseScheduler, run_grader: RunGrader, run_static: RunStatic
    ) -> None:
        self._scheduler = scheduler
        self._run_grader = run_grader
        self._run_static = run_static
        self._passed: set[str] = set()
        self.cases: dict[str, Result] = {}
        self.groups: list[GroupScore] = []
        self.faults: list[str] = []

    async def grade(self, group: Group) -> Result | None:
        """The result of the group; None if it has no cases."""
        if isinstance(group.grading, Subtask) and not self._passed.issuperset(
            group.grading.requires
        ):
            self._scheduler.skip(group.cases())
            return self._record(group, LOCKED)
        results = await self._judge_items(group)
        if not results:
            return None
        return self._record(group, await self._grade(group, results))

    async def _judge_items(self, group: Group) -> list[Result]:
        results: list[Result] = []
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
            self._scheduler.skip(item.cases() if isinstance(item, Group) else [item])

    async def _judge_case(self, group: Group, case: Case) -> Result:
        outcome = await self._scheduler.result(case)
        if outcome.verdict is Verdict.JUDGE_ERROR:
            self.faults.append(f"{case.name}: {outcome.message.reveal()}")
        try:
            result = score_case(group, case, outcome.verdict, outcome.score)
        except ScoreFault as fault:
            result = self._fault(str(fault))
        self.cases[case.name] = result
        return result

    async def _judge_static(self, group: Group, static: StaticCheck) -> Result:
        checked = await self._run_static(static)
        if checked.verdict is Verdict.JUDGE_ERROR:
            return self._fault(checked.jury_message)
        if checked.verdict is not Verdict.ACCEPTED:
            return Result(checked.verdict, 0.0)
        try:
            return Result(checked.verdict, points_of_static(group, static, checked.score))
        except ScoreFault as fault:
            return self._fault(str(fault))

    async def _grade(self, group: Group, results: Sequence[Result]) -> Result:
        if any(result.verdict is Verdict.JUDGE_ERROR for result in results):
            return Result(Verdict.JUDGE_ERROR)
        if isinstance(group.grading, CustomGrader):
            graded = await self._run_grader(group.grading, results)
            if graded.verdict is Verdict.JUDGE_ERROR:
                self.faults.append(
                    f"The grader gave no valid result for {group.name or 'the tests'}."
                )
            return graded
        if isinstance(group.grading, Subtask):
            try:
                return grade_subtask(group, group.grading, results)
            except ScoreFault as fault:
                return self._fault(str(fault))
        return grade_by_default(group.grading, results)

    def _fault(self, message: str) -> Result:
        self.faults.append(message)
        return Result(Verdict.JUDGE_ERROR)

    def _record(self, group: Group, result: Result) -> Result:
        if result.accepted:
            self._passed.add(group.name)
        max_score = group.grading.max_score if isinstance(group.grading, Subtask) else None
        self.groups.append(GroupScore(group.name, result.verdict, result.score, max_score))
        return result
