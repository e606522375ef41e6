"""Compile slots are on cores on which no worker judges, and are opened when they are wanted."""

import itertools
import os
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from deemster.domain.source import single_file
from deemster.sandbox.cores import reserve_cores
from deemster.wiring.compile_ahead import open_compile_ahead
from tests.pipeline.judge.sum_problem import (
    CATALOGUE,
    prepare,
    settings_in,
    sum_problem,
)
from tests.toolchains import TOOLCHAINS
from tests.waiting import until

CORES = sorted(os.sched_getaffinity(0))
C = CATALOGUE.named("c")


@pytest.mark.skipif(len(CORES) < 2, reason="needs two cores")
async def test_q9_compilers_never_share_a_core_with_a_worker_that_judges(
    tmp_path: Path,
) -> None:
    """Q9: without a free core, a program is compiled in its slot."""
    locks, numbers = tmp_path / "cores", itertools.count()
    opened = prepare(tmp_path, sum_problem(tmp_path / "package"), "c")
    with reserve_cores(locks, 1) as ours:
        compiling = open_compile_ahead(
            settings_in(tmp_path),
            [await TOOLCHAINS.require(C)],
            locks,
            ours,
            is_busy=lambda: True,
            is_capped=lambda _: False,
        )
        async with opened as problem, compiling as compile_ahead:

            async def compiles() -> bool:
                source = single_file(C, "a.c", b"int main(void) {} //%d" % next(numbers))
                async with AsyncExitStack() as stack:
                    return await compile_ahead.build(stack, problem, C, source) is not None

            assert not await compiles(), "nobody waits until the boxes are open"
            await until(compiles)
            with reserve_cores(locks, len(CORES) - 1):
                assert not await compiles()
            assert await compiles()
