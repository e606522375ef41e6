"""M1, M3: a judge host that sends hostile results harms at most the tasks that it was given."""

import json
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import ValidationError

from deemster.domain.execution import CompileResult, ExecutionResult
from deemster.domain.job import Task
from deemster.domain.judgement import CompileRecord, JuryCase, JuryText
from deemster.domain.run_status import RunStatus
from deemster.domain.stored_analysis import AnalysisRecord
from deemster.domain.verdict import Verdict
from deemster.pipeline.remote.messages import (
    LOG_BYTES,
    Announcement,
    ExecuteOutcome,
    Finish,
    JudgeOutcome,
)
from deemster.store.pool import Pool
from tests.builders import judged, make_problem
from tests.pipeline.work.stepped_dispatcher import Dispatcher
from tests.pipeline.work.test_dispatcher_killed import LONG_S, make_room, report

HUGE: Final = 10**30
EXECUTED = Finish(execute=ExecuteOutcome(result=ExecutionResult(RunStatus.OK, exit_code=0)))
JUDGED = Finish(judge=JudgeOutcome(judgement=judged()))
ANALYZED = Finish(analyze=AnalysisRecord(zlib.compress(b"{}"), {"style": 50}, {}, 1))


def document(finish: Finish) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(finish.model_dump_json())
    return found


REFUSED: dict[str, tuple[Finish, Callable[[dict[str, Any]], object]]] = {
    "time": (JUDGED, lambda it: it["judge"]["judgement"]["cases"][0].update(cpu_ms=HUGE)),
    "memory": (JUDGED, lambda it: it["judge"]["judgement"]["cases"][0].update(memory_kb=HUGE)),
    "negative": (JUDGED, lambda it: it["judge"]["judgement"]["cases"][0].update(cpu_ms=-1)),
    "score": (JUDGED, lambda it: it["judge"]["judgement"].update(score=1e300)),
    "exit code": (EXECUTED, lambda it: it["execute"]["result"].update(exit_code=HUGE)),
    "wall time": (EXECUTED, lambda it: it["execute"]["result"].update(wall_ms=1e300)),
    "findings": (ANALYZED, lambda it: it["analyze"].update(findings=HUGE)),
    "quality": (ANALYZED, lambda it: it["analyze"].update(scores={"style": HUGE})),
    "two outcomes": (JUDGED, lambda it: it.update(failure={"error": "x"})),
    "none": (JUDGED, lambda it: it.update(judge=None)),
    "NUL": (JUDGED, lambda it: it.update(judge=None, failure={"error": "a\0"})),
}


@pytest.mark.parametrize("name", REFUSED)
def test_m1_a_result_that_cannot_be_stored_is_refused(name: str) -> None:
    """M1: it would be settled again and again, and never end."""
    finish, change = REFUSED[name]
    hostile = document(finish)
    Finish.model_validate_json(json.dumps(hostile))
    change(hostile)
    with pytest.raises(ValidationError):
        Finish.model_validate_json(json.dumps(hostile))


@pytest.mark.parametrize(
    "log", [zlib.compress(b" " * (LOG_BYTES + 1)), b"x", zlib.compress(b"[]")]
)
def test_m1_a_log_that_unpacks_to_too_much_or_is_none_is_refused(log: bytes) -> None:
    """M1: all who read the analysis would unpack it."""
    with pytest.raises(ValidationError):
        Finish(analyze=AnalysisRecord(log, {}, {}, 0))


@pytest.mark.parametrize(
    "address", ["http://host:99999999", "http://[::1", "http://[x]/", "http://a:b@c/"]
)
def test_m1_an_address_that_cannot_be_read_is_refused(address: str) -> None:
    with pytest.raises(ValidationError):
        Announcement(release="1", slots=1, languages={}, address=address)


@pytest.mark.parametrize("speed", [0.0005, 0, -1, 1e9, float("nan"), float("inf")])
def test_m4_a_speed_for_which_no_task_can_be_made_is_refused(speed: float) -> None:
    with pytest.raises(ValidationError):
        Announcement(release="1", slots=1, languages={}, speed=speed)


@pytest.mark.parametrize(
    ("task", "finish"),
    [
        (
            Task.RUN,
            Finish(
                judge=JudgeOutcome(
                    judgement=replace(
                        judged(),
                        cases=[
                            JuryCase(
                                "a\0",
                                1,
                                Verdict.WRONG_ANSWER,
                                is_sample=True,
                                message=JuryText("\0"),
                                team_message="\0",
                                output=JuryText("\0"),
                            )
                        ],
                        compiled=CompileRecord("c\0", "1\0", ("\0",)),
                    )
                )
            ),
        ),
        (
            Task.EXECUTE,
            Finish(
                execute=ExecuteOutcome(
                    result=ExecutionResult(
                        RunStatus.OK,
                        wall_ms=-1.5,
                        compile=CompileResult(RunStatus.OK, "\0", 1),
                        returned_files={"../\0": b"x"},
                    )
                )
            ),
        ),
        (Task.RUN, EXECUTED),
        (Task.EXECUTE, JUDGED),
        (Task.RUN, ANALYZED),
    ],
)
async def test_m3_odd_texts_and_kinds_are_settled(
    pool: Pool, tmp_path: Path, task: Task, finish: Finish
) -> None:
    room = await make_room(pool)
    await make_problem(pool)
    _, number = await report(pool, room, task, finish)
    await Dispatcher(pool, tmp_path, LONG_S, []).receive(number)
    async with pool.acquire() as acquired:
        assert await acquired.fetchval("SELECT bool_and(ended_at IS NOT NULL) FROM remote_task")


async def test_m1_a_result_with_more_cases_than_the_problem_has_does_not_count(
    pool: Pool, tmp_path: Path
) -> None:
    """M1: the page of the submission shows all of them."""
    room = await make_room(pool)
    summary = await make_problem(pool)
    finish = Finish(judge=JudgeOutcome(judgement=judged(cases=summary.cases + 1)))
    work, number = await report(pool, room, Task.RUN, finish)
    await Dispatcher(pool, tmp_path, LONG_S, []).receive(number)
    async with pool.acquire() as acquired:
        verdict = await acquired.fetchval("SELECT verdict FROM work WHERE id = $1", work)
    assert verdict is None
