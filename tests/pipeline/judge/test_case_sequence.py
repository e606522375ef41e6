"""Cases in turn: the next one starts when one has ended, and counts only if it is needed."""

import asyncio
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from deemster.domain.judgement import CaseSoFar
from deemster.domain.problem import Group
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge import case_sequence
from deemster.pipeline.judge.case_judge import PreparedCase
from deemster.pipeline.judge.case_sequence import CaseSequence
from deemster.sandbox.boxes import Boxes
from tests.pipeline.judge.sum_problem import judge, prepare, sum_problem

RIGHT = "print(sum(map(int, input().split())))"
CASES = 12


async def test_j3_a_case_that_was_started_ahead_does_not_count(tmp_path: Path) -> None:
    """J3: the second case would never end by itself, and nobody waits for it."""
    told: list[CaseSoFar] = []
    text = "n = int(input()[0])\nwhile n == 2: pass\nprint('wrong')"
    async with prepare(tmp_path, sum_problem(tmp_path / "package", 4)) as prepared:
        judgement = await judge(prepared, text, on_case=told.append)
        again = await judge(prepared, RIGHT)
    assert [case.verdict for case in judgement.cases] == [Verdict.WRONG_ANSWER, *[None] * 3]
    assert [each.number for each in told] == [1]
    assert again.verdict is Verdict.ACCEPTED


async def test_j3_cases_are_told_in_their_order(tmp_path: Path) -> None:
    """Also where cases between them can't be made ready, because they get files."""
    problem = sum_problem(tmp_path / "package", CASES)
    cases = [*problem.tests.cases()]
    for number in (0, 4, 5, CASES - 1):
        cases[number] = replace(cases[number], files={"extra": cases[number].input})
    mixed = replace(problem, tests=Group("", tuple(cases)))
    told: list[CaseSoFar] = []
    async with prepare(tmp_path, mixed) as prepared:
        judgement = await judge(prepared, RIGHT, on_case=told.append)
    assert judgement.verdict is Verdict.ACCEPTED
    assert [each.number for each in told] == list(range(1, CASES + 1))


async def test_who_waits_for_the_lane_gets_it_between_two_cases(tmp_path: Path) -> None:
    """A long submission delays another one, or a compilation, by a few cases only."""
    told: list[str] = []

    def tell(name: str, _: CaseSoFar) -> None:
        told.append(name)

    problem = sum_problem(tmp_path / "package", CASES)
    async with prepare(tmp_path, problem) as prepared, asyncio.TaskGroup() as group:
        for name in ("a", "b"):
            group.create_task(judge(prepared, RIGHT, on_case=partial(tell, name)))
    assert sorted(told) == ["a"] * CASES + ["b"] * CASES
    assert told.index("b") < CASES
    assert told.index("a") < CASES
    changes = sum(one != other for one, other in pairwise(told))
    assert changes > CASES / 2


@pytest.mark.parametrize(
    ("text", "most"), [(RIGHT, 2), (f"import time; time.sleep(0.1); {RIGHT}", 1)]
)
async def test_two_cases_are_made_ready_only_while_cases_are_quick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, most: int
) -> None:
    """Who waits for the lane also waits for the cases that are ready."""
    monkeypatch.setattr(case_sequence, "QUICK_MS", 90.0)  # a busy machine is slow
    ready: list[int] = []
    prepare_following = CaseSequence._prepare_following

    async def count(sequence: CaseSequence, last: PreparedCase, boxes: Boxes) -> None:
        await prepare_following(sequence, last, boxes)
        ready.append(len(sequence._ahead))

    monkeypatch.setattr(CaseSequence, "_prepare_following", count)
    async with prepare(tmp_path, sum_problem(tmp_path / "package", 6)) as prepared:
        judgement = await judge(prepared, text)
    assert judgement.verdict is Verdict.ACCEPTED
    assert ready[0] == 1, "it is not known how long the cases take"
    assert max(ready) == most
    assert ready[-1] == 0
