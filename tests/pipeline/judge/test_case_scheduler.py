"""Tests for the case scheduler: cases run in order, and unneeded ones are cancelled."""

import asyncio

import pytest

from deemster.domain.errors import Unavailable
from deemster.domain.problem import Case
from deemster.domain.run_status import RunStatus
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.case_judge import CaseOutcome
from deemster.pipeline.judge.group_grader import AHEAD, CaseScheduler
from deemster.sandbox.wire import Report
from tests.waiting import PATIENCE_S

CASES = [Case(f"secret/{number:03}", "", "") for number in range(50)]


class FakeJudge:
    """Finishes a case when the test calls `finish`."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.changed = asyncio.Event()
        self.cancelled: list[str] = []
        self.finished: dict[str, asyncio.Event] = {}

    async def __call__(self, case: Case) -> CaseOutcome:
        self.started.append(case.name)
        self.changed.set()
        finished = self.finished.setdefault(case.name, asyncio.Event())
        try:
            await finished.wait()
        except asyncio.CancelledError:
            self.cancelled.append(case.name)
            raise
        return CaseOutcome(case, Verdict.ACCEPTED, Report(RunStatus.OK), 1000)

    def finish(self, case: Case) -> None:
        self.finished.setdefault(case.name, asyncio.Event()).set()


async def until_started(judge: FakeJudge, count: int) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while len(judge.started) < count:
            judge.changed.clear()
            await judge.changed.wait()


async def test_cases_start_in_order_and_at_most_width_run_at_once() -> None:
    """J3: cases run in a fixed order."""
    judge = FakeJudge()
    async with CaseScheduler.open(CASES, judge, 2) as scheduler:
        await until_started(judge, 2)
        assert judge.started == [CASES[0].name, CASES[1].name]
        judge.finish(CASES[1])
        await until_started(judge, 3)
        assert judge.started[-1] == CASES[2].name
        judge.finish(CASES[0])
        assert (await scheduler.result(CASES[0])).case is CASES[0]


async def test_no_case_starts_far_ahead_of_the_requested_one() -> None:
    judge = FakeJudge()
    for case in CASES[1:]:
        judge.finish(case)
    async with CaseScheduler.open(CASES, judge, 2) as scheduler:
        await until_started(judge, AHEAD + 1)
        for _ in range(100):
            await asyncio.sleep(0)
        assert len(judge.started) == AHEAD + 1
        judge.finish(CASES[0])
        await scheduler.result(CASES[0])


async def test_skipped_cases_are_cancelled_or_never_started() -> None:
    judge = FakeJudge()
    async with CaseScheduler.open(CASES, judge, 2) as scheduler:
        await until_started(judge, 2)
        judge.finish(CASES[0])
        await scheduler.result(CASES[0])
        scheduler.skip(CASES[1:40])
        judge.finish(CASES[40])
        await scheduler.result(CASES[40])
    assert CASES[1].name in judge.cancelled
    assert not {case.name for case in CASES[3:40]} & set(judge.started)


async def test_running_cases_are_cancelled_at_the_end_of_the_block() -> None:
    judge = FakeJudge()
    async with CaseScheduler.open(CASES, judge, 3):
        await until_started(judge, 3)
    assert sorted(judge.cancelled) == [case.name for case in CASES[:3]]


async def test_an_error_in_one_case_is_raised_while_waiting_for_another() -> None:
    async def judge(case: Case) -> CaseOutcome:
        if case is CASES[1]:
            raise Unavailable("The sandbox is gone.")
        await asyncio.Event().wait()
        raise AssertionError

    with pytest.raises(Unavailable, match="gone"):
        async with (
            asyncio.timeout(PATIENCE_S),
            CaseScheduler.open(CASES, judge, 2) as scheduler,
        ):
            await scheduler.result(CASES[0])


async def test_with_a_width_of_1_a_case_starts_when_its_result_is_requested() -> None:
    """J3: nothing runs that a stopped group does not need."""
    judge = FakeJudge()
    for case in CASES:
        judge.finish(case)
    async with CaseScheduler.open(CASES, judge, 1) as scheduler:
        await scheduler.result(CASES[0])
        scheduler.skip(CASES[1:3])
        await scheduler.result(CASES[3])
    assert judge.started == [CASES[0].name, CASES[3].name]


async def test_with_a_width_of_1_the_error_of_a_case_is_raised_as_it_is() -> None:
    async def judge(_: Case) -> CaseOutcome:
        raise Unavailable("The sandbox is gone.")

    with pytest.raises(Unavailable, match="gone"):
        async with CaseScheduler.open(CASES, judge, 1) as scheduler:
            await scheduler.result(CASES[0])
