"""Cases in order, some ahead of need, needless ones dropped."""

import asyncio

import pytest

from deemster.domain.errors import Unavailable
from deemster.domain.problem import Case
from deemster.domain.run_status import RunStatus
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.case_judge import CaseOutcome
from deemster.pipeline.judge.case_scheduler import AHEAD, CaseScheduler
from deemster.sandbox.report import Report

CASES = [Case(f"secret/{number:03}", "", "") for number in range(50)]


class Judge:
    """Ends a case when the test says so."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.moved = asyncio.Event()
        self.cancelled: list[str] = []
        self.gates: dict[str, asyncio.Event] = {}

    async def __call__(self, case: Case) -> CaseOutcome:
        self.begun.append(case.name)
        self.moved.set()
        gate = self.gates.setdefault(case.name, asyncio.Event())
        try:
            await gate.wait()
        except asyncio.CancelledError:
            self.cancelled.append(case.name)
            raise
        return CaseOutcome(case, Verdict.ACCEPTED, Report(RunStatus.OK), 1000)

    def end(self, case: Case) -> None:
        self.gates.setdefault(case.name, asyncio.Event()).set()


async def until_begun(judge: Judge, count: int) -> None:
    async with asyncio.timeout(10):
        while len(judge.begun) < count:
            judge.moved.clear()
            await judge.moved.wait()


async def test_cases_begin_in_order_and_no_more_than_the_width_at_once() -> None:
    """J3: cases run in a fixed order."""
    judge = Judge()
    async with CaseScheduler.open(CASES, judge, 2) as line:
        await until_begun(judge, 2)
        assert judge.begun == [CASES[0].name, CASES[1].name]
        judge.end(CASES[1])
        await until_begun(judge, 3)
        assert judge.begun[-1] == CASES[2].name
        judge.end(CASES[0])
        assert (await line.result(CASES[0])).case is CASES[0]


async def test_no_case_is_begun_far_ahead_of_the_one_that_is_asked_for() -> None:
    judge = Judge()
    for case in CASES[1:]:
        judge.end(case)
    async with CaseScheduler.open(CASES, judge, 2) as line:
        await until_begun(judge, AHEAD + 1)
        for _ in range(100):
            await asyncio.sleep(0)
        assert len(judge.begun) == AHEAD + 1
        judge.end(CASES[0])
        await line.result(CASES[0])


async def test_needless_cases_are_ended_and_never_begun() -> None:
    judge = Judge()
    async with CaseScheduler.open(CASES, judge, 2) as line:
        await until_begun(judge, 2)
        judge.end(CASES[0])
        await line.result(CASES[0])
        line.skip(CASES[1:40])
        judge.end(CASES[40])
        await line.result(CASES[40])
    assert CASES[1].name in judge.cancelled
    assert not {case.name for case in CASES[3:40]} & set(judge.begun)


async def test_leaving_ends_what_still_runs() -> None:
    judge = Judge()
    async with CaseScheduler.open(CASES, judge, 3):
        await until_begun(judge, 3)
    assert sorted(judge.cancelled) == [case.name for case in CASES[:3]]


async def test_a_fault_in_one_case_reaches_who_waits_for_another() -> None:
    async def judge(case: Case) -> CaseOutcome:
        if case is CASES[1]:
            raise Unavailable("The sandbox is gone.")
        await asyncio.Event().wait()
        raise AssertionError

    with pytest.raises(Unavailable, match="gone"):
        async with asyncio.timeout(10), CaseScheduler.open(CASES, judge, 2) as line:
            await line.result(CASES[0])
