"""M6: the result of a heng task has the kinds of heng-protocol, with their spelling."""

import json
from dataclasses import replace
from typing import Any

import pytest

from deemster.domain.judgement import CompileRecord, JuryCase, JuryJudgement, JuryText
from deemster.domain.lifecycle import State
from deemster.domain.run_status import RunStatus
from deemster.domain.submission import SubmissionView
from deemster.domain.verdict import Verdict
from deemster.pipeline.deliver.heng_result import STATES, finish_body, update_body
from deemster.pipeline.verdict.attempt import jury_document
from deemster.store.pool import Pool, connection
from deemster.store.submissions import get
from tests.builders import make_submission

COMPILED = CompileRecord("cpp", "12", argv=("g++",), output="a warning: ä", ms=70)


@pytest.fixture
async def view(pool: Pool) -> SubmissionView:
    submission = await make_submission(pool)
    async with connection(pool) as acquired:
        found = await get(acquired, submission)
    assert found is not None
    return found


def result(
    view: SubmissionView, judgement: JuryJudgement | None, message_bytes: int = 1000
) -> dict[str, Any]:
    # Through JSON, as the report is stored.
    jury = json.loads(json.dumps(jury_document(judgement))) if judgement else None
    body = finish_body(view, jury, cases=2, message_bytes=message_bytes)
    found: dict[str, Any] = json.loads(body)["result"]
    return found


def case(verdict: Verdict | None, **fields: Any) -> JuryCase:
    return JuryCase("1", 1, verdict, **fields)


KINDS = {
    case(Verdict.ACCEPTED): "Accepted",
    case(Verdict.WRONG_ANSWER): "WrongAnswer",
    case(Verdict.PARTIAL): "WrongAnswer",
    case(Verdict.TIME_LIMIT): "TimeLimitExceeded",
    case(Verdict.MEMORY_LIMIT): "MemoryLimitExceeded",
    case(Verdict.OUTPUT_LIMIT): "OutpuLimitExceeded",
    case(Verdict.RUNTIME_ERROR): "RuntimeError",
    case(Verdict.JUDGE_ERROR): "SystemError",
    case(Verdict.JUDGE_ERROR, jury_status=RunStatus.OK): "SystemError",
    case(Verdict.JUDGE_ERROR, jury_status=RunStatus.TIME_LIMIT): "SystemTimeLimitExceed",
    case(Verdict.JUDGE_ERROR, jury_status=RunStatus.WALL_LIMIT): "SystemTimeLimitExceed",
    case(Verdict.JUDGE_ERROR, jury_status=RunStatus.MEMORY_LIMIT): "SystemMemoryLimitExceed",
    case(Verdict.JUDGE_ERROR, jury_status=RunStatus.OUTPUT_LIMIT): "SystemOutpuLimitExceeded",
    case(Verdict.JUDGE_ERROR, jury_status=RunStatus.SIGNALLED): "SystemRuntimeError",
    case(Verdict.JUDGE_ERROR, jury_status=RunStatus.NONZERO_EXIT): "SystemRuntimeError",
    case(None): "Unjudged",
}


async def test_every_end_of_a_case_has_its_kind(view: SubmissionView) -> None:
    cases = result(view, JuryJudgement(Verdict.WRONG_ANSWER, list(KINDS)))["cases"]
    assert [each["kind"] for each in cases] == list(KINDS.values())
    known = {each.verdict for each in KINDS}
    assert known == {*Verdict, None} - {Verdict.COMPILE_ERROR}, "each verdict has a kind"


async def test_cases_have_time_memory_and_message(view: SubmissionView) -> None:
    long = JuryText("x" * 2000)
    found = case(Verdict.ACCEPTED, cpu_ms=12, memory_kb=3, message=long)
    (shown,) = result(view, JuryJudgement(Verdict.ACCEPTED, [found]))["cases"]
    expected = {"kind": "Accepted", "time": 12, "memory": 3072, "extraMessage": "x" * 1024}
    assert shown == expected


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (RunStatus.NONZERO_EXIT, "CompileError"),
        (RunStatus.OK, "CompileError"),
        (RunStatus.TIME_LIMIT, "CompileTimeLimitExceeded"),
        (RunStatus.WALL_LIMIT, "CompileTimeLimitExceeded"),
        (RunStatus.MEMORY_LIMIT, "CompileMemoryLimitExceed"),
        (RunStatus.OUTPUT_LIMIT, "CompileFileLimitExceed"),
    ],
)
async def test_a_program_that_does_not_compile_fails_all_cases(
    view: SubmissionView, status: RunStatus, kind: str
) -> None:
    compiled = replace(COMPILED, status=status)
    judgement = JuryJudgement(Verdict.COMPILE_ERROR, [case(None)] * 2, compiled=compiled)
    assert result(view, judgement) == {
        "cases": [{"kind": kind, "time": 0, "memory": 0}] * 2,
        "extra": {"user": {"compileMessage": "a warning: ä", "compileTime": 70}},
    }


async def test_the_compilers_message_is_cut_to_the_limit_of_the_task(
    view: SubmissionView,
) -> None:
    judgement = JuryJudgement(Verdict.ACCEPTED, [case(Verdict.ACCEPTED)], compiled=COMPILED)
    user = result(view, judgement, message_bytes=12)["extra"]["user"]
    assert user["compileMessage"] == "a warning: ", "half of a letter is left out"


async def test_without_a_compiler_there_is_no_extra(view: SubmissionView) -> None:
    compiled = CompileRecord("python3", "3.11")
    judgement = JuryJudgement(Verdict.ACCEPTED, [case(Verdict.ACCEPTED)], compiled=compiled)
    assert "extra" not in result(view, judgement)


async def test_a_checker_that_does_not_compile_is_told(view: SubmissionView) -> None:
    judgement = JuryJudgement(Verdict.JUDGE_ERROR, fault=JuryText("no semicolon"))
    expected = {"kind": "SystemCompileError", "time": 0, "memory": 0}
    found = result(view, judgement)["cases"]
    assert found == [{**expected, "extraMessage": "no semicolon"}] * 2


@pytest.mark.parametrize(
    ("state", "kind"), [(State.FAILED, "SystemError"), (State.CANCELLED, "Unjudged")]
)
async def test_a_task_without_a_verdict_has_a_result(
    view: SubmissionView, state: State, kind: str
) -> None:
    found = result(replace(view, state=state, failure="/secret/path"), None)
    assert [each["kind"] for each in found["cases"]] == [kind] * 2
    assert "/secret" not in json.dumps(found)


def test_updates_tell_the_state() -> None:
    told = [json.loads(update_body(kind)) for kind in STATES]
    assert told == [{"state": each} for each in ("confirmed", "pending", "judging")]
