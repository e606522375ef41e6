"""Workers and judge hosts clamp limits to the ceilings of their operator."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from deemster.domain.limits import MIB
from deemster.domain.problem import Group
from deemster.domain.problem_ceilings import ProblemCeilings
from deemster.domain.source import Source
from deemster.domain.verdict import Verdict
from deemster.judgehost.task_runner import execution_details
from deemster.pipeline.judge.submission_judge import ignore
from deemster.pipeline.work.judge_program import ProgramJudge
from deemster.problems.revision import Revision
from deemster.settings import Settings
from deemster.settings.ceilings import ceiling_of
from deemster.wiring.judging import open_judging
from deemster.wiring.program_judge import open_prepared_problems
from tests.judgehost.host_process import execution
from tests.pipeline.judge.sum_problem import CATALOGUE, settings_in, sum_problem

ENDLESS = Source({"main.py": b"while True: pass"})
LARGE = Source({"main.py": b"x = bytearray(200 << 20); print(sum(map(int, input().split())))"})


async def test_x5_a_worker_clamps_the_time_and_memory_of_a_package(tmp_path: Path) -> None:
    root, spool = tmp_path / "package", tmp_path / "spool"
    spool.mkdir()
    greedy = sum_problem(root)
    limits = replace(greedy.limits, time_ms=600_000, memory_bytes=4096 * MIB)
    cases = [replace(case, time_ms=600_000) for case in greedy.tests.cases()]
    tests = Group("", (Group("secret", tuple(cases)),))
    greedy = replace(greedy, limits=limits, tests=tests)

    @asynccontextmanager
    async def opened(digest: str) -> AsyncIterator[Revision]:
        yield Revision(digest, root, greedy)

    ceilings = ProblemCeilings(time_ms=500, memory_bytes=32 * MIB)
    async with (
        open_judging(
            settings_in(tmp_path), CATALOGUE, [CATALOGUE.named("python3")], lanes=1
        ) as (tools, lanes),
        open_prepared_problems(tools, lanes, opened, spool, ceilings) as problems,
    ):
        judge = ProgramJudge(tools, problems, ceilings.time_ms)
        found = [
            (
                await judge.judge(
                    "x",
                    "python3",
                    source,
                    time_ms=600_000,
                    tries=1,
                    on_part=ignore,
                    time_factor=2,
                )
            ).judgement
            for source in (ENDLESS, LARGE)
        ]
    assert [each.verdict for each in found] == [Verdict.TIME_LIMIT, Verdict.MEMORY_LIMIT]
    # A slow judge host gets its factor beyond the ceiling, also for the limit of a case.
    assert found[0].cases[0].limit_ms == 1000


def test_x5_a_judge_host_clamps_the_limits_of_executions(tmp_path: Path) -> None:
    most = ceiling_of(Settings(data_dir=tmp_path, execution_wall_s=2, execution_memory_mb=64))
    limits = execution_details(execution("c", ""), most).limits
    assert (limits.wall_ms, limits.cpu_ms, limits.memory_bytes) == (2000, 2000, 64 * MIB)
