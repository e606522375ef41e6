"""While all slots judge, the next programs are compiled in compile slots."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from deemster.domain.language import Language, LanguageId
from deemster.domain.source import Source, single_file
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.prepared_problem import PreparedProblem
from deemster.pipeline.work.compile_ahead import CompileAhead, FindBoxes
from deemster.programs.build.compile import Build
from deemster.programs.build.toolchain import Toolchain, Toolchains
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.runner import SandboxFault
from deemster.wiring.judging import open_boxes
from tests.pipeline.judge.sum_problem import CATALOGUE, prepare, settings_in, sum_problem
from tests.toolchains import TOOLCHAINS
from tests.waiting import until

C = CATALOGUE.named("c")
SUM = b"""#include <stdio.h>
int main(void) { int a, b; scanf("%d %d", &a, &b); printf("%d", a + b); }
"""


@dataclass(frozen=True, slots=True)
class Place:
    problem: PreparedProblem
    boxes: Boxes

    async def find(self) -> Boxes | None:
        return self.boxes

    async def find_none(self) -> Boxes | None:
        return None


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    """A prepared problem with one lane, and one box for compilers."""
    toolchain = await TOOLCHAINS.require(C)
    async with (
        open_boxes(settings_in(tmp_path), [toolchain]) as boxes,
        prepare(tmp_path, sum_problem(tmp_path / "package"), "c") as problem,
    ):
        yield Place(problem, boxes)


def ahead(
    find: FindBoxes, *, slots: int = 1, busy: bool = True, capped: LanguageId | None = None
) -> CompileAhead:
    return CompileAhead(
        slots, find, is_busy=lambda: busy, is_capped=lambda language: language == capped
    )


@asynccontextmanager
async def built(
    compile_ahead: CompileAhead, problem: PreparedProblem, source: Source
) -> AsyncIterator[Build | None]:
    async with AsyncExitStack() as stack:
        yield await compile_ahead.build(stack, problem, C, source)


def source_of(text: bytes) -> Source:
    return single_file(C, "main", text)


async def test_a_program_is_compiled_while_its_lane_is_in_use(place: Place) -> None:
    source = source_of(SUM)
    async with AsyncExitStack() as stack:
        async with place.problem.lanes.acquire():
            build = await ahead(place.find).build(stack, place.problem, C, source)
        assert build is not None
        judgement = await place.problem.judge(C, source, time_ms=1000, build=build)
    assert judgement.verdict is Verdict.ACCEPTED
    assert judgement.compiled is not None
    assert (judgement.compiled.cached, judgement.compiled.ms > 0) == (False, True)


async def test_a_compile_error_is_known_before_the_slot_is_free(place: Place) -> None:
    source = source_of(b"int main(void) { return broken; }")
    async with built(ahead(place.find), place.problem, source) as build:
        assert build is not None
        judgement = await place.problem.judge(C, source, time_ms=1000, build=build)
    assert judgement.verdict is Verdict.COMPILE_ERROR
    assert judgement.compiled is not None
    assert "broken" in judgement.compiled.output


async def test_a_program_is_left_to_its_slot_if_that_is_better(place: Place) -> None:
    """Q9: a cap of a language also limits its compilers."""
    source = source_of(SUM)
    for compile_ahead in (
        ahead(place.find, busy=False),
        ahead(place.find, capped=C.id),
        ahead(place.find, slots=0),
        ahead(place.find_none),
    ):
        async with built(compile_ahead, place.problem, source) as build:
            assert build is None


async def test_as_many_programs_are_compiled_as_there_are_compile_slots(place: Place) -> None:
    may_go_on, waiting = asyncio.Event(), asyncio.Event()

    async def find_later() -> Boxes | None:
        waiting.set()
        await may_go_on.wait()
        return place.boxes

    compile_ahead = ahead(find_later)
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
        first = group.create_task(
            compile_ahead.build(stack, place.problem, C, source_of(SUM + b"// 1"))
        )
        await waiting.wait()
        async with built(compile_ahead, place.problem, source_of(SUM)) as second:
            assert second is None
        may_go_on.set()
        assert await first is not None
        async with built(compile_ahead, place.problem, source_of(SUM)) as third:
            assert third is not None


async def test_a_fault_of_the_boxes_leaves_the_program_to_its_slot(place: Place) -> None:
    async def find_none() -> Boxes | None:
        raise SandboxFault("The runner is gone.")

    source = source_of(SUM)
    compile_ahead = ahead(find_none)
    for _ in range(2):  # the slot is free again after a fault
        async with built(compile_ahead, place.problem, source) as build:
            assert build is None
    judgement = await place.problem.judge(C, source, time_ms=1000)
    assert judgement.verdict is Verdict.ACCEPTED


async def test_x12_a_compiler_that_is_killed_with_its_runner_is_started_in_the_slot(
    place: Place,
) -> None:
    endless = source_of(b'#include "/dev/zero"\n' + SUM)
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
        building = group.create_task(ahead(place.find).build(stack, place.problem, C, endless))
        await until(lambda: not place.boxes.has_free_box)
        os.kill(place.boxes.runner_pid, signal.SIGKILL)
        assert await building is None


async def test_a_compile_that_may_have_had_no_time_is_repeated_in_the_slot(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compile slots share their cores with executions, so a wall-clock limit proves nothing."""
    assert C.compile is not None
    limits = replace(C.compile.limits, cpu_ms=200, wall_ms=50)
    hurried = replace(C, compile=replace(C.compile, limits=limits))
    toolchain = replace(await TOOLCHAINS.require(C), language=hurried)

    async def require(_toolchains: Toolchains, _language: Language) -> Toolchain:
        return toolchain

    monkeypatch.setattr(Toolchains, "require", require)
    endless = source_of(b'#include "/dev/zero"\n')
    async with built(ahead(place.find), place.problem, endless) as build:
        assert build is None
