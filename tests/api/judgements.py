"""Judged submissions whose hidden data contains a known word."""

from typing import Any

from deemster.domain.ids import AccountId, SubmissionId
from deemster.domain.judgement import (
    CompileRecord,
    FaultCause,
    GroupScore,
    JuryCase,
    JuryJudgement,
    JuryText,
    ProgramExit,
)
from deemster.domain.run_status import RunStatus
from deemster.domain.verdict import Verdict
from deemster.pipeline.verdict.attempt import settle
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool
from deemster.store.problems import ProblemSummary
from tests.builders import make_submission, queue_submission, start_submission

HIDDEN = "HIDDEN-WORDS"
"""All data that a contestant must not see contains this word."""

COMPILED = CompileRecord(
    "python3", "3.11.7", ("python3", "-m", "py_compile"), ("python3", "main.py"), HIDDEN
)
GOOD = JuryCase(f"secret/{HIDDEN}", 1, Verdict.ACCEPTED, cpu_ms=12, memory_kb=900)


def failing(verdict: Verdict, *, sample: bool = False, **more: Any) -> JuryCase:
    shown = "visible " if sample else HIDDEN
    return JuryCase(
        f"secret/{HIDDEN}",
        2,
        verdict,
        is_sample=sample,
        cpu_ms=34,
        wall_ms=8500,
        memory_kb=1200,
        limit_ms=2500,
        message=JuryText(HIDDEN),
        output=JuryText(f"{shown}got"),
        expected=JuryText(f"{shown}expected"),
        stderr=JuryText(f"{shown}stderr"),
        **more,
    )


def judgement(verdict: Verdict, *cases: JuryCase, **more: Any) -> JuryJudgement:
    cause = FaultCause.CHECKER if verdict is Verdict.JUDGE_ERROR else None
    return JuryJudgement(
        verdict, cases, compiled=COMPILED, fault=JuryText(HIDDEN), cause=cause, **more
    )


JUDGEMENTS: dict[Verdict, JuryJudgement] = {
    Verdict.ACCEPTED: judgement(Verdict.ACCEPTED, GOOD),
    Verdict.PARTIAL: judgement(
        Verdict.PARTIAL,
        GOOD,
        score=40.0,
        max_score=100.0,
        groups=[
            GroupScore("one", Verdict.ACCEPTED, 40.0, 40.0),
            GroupScore("two", None, 0.0, 60.0),
            GroupScore("", Verdict.PARTIAL, 40.0, 100.0),
        ],
    ),
    **{
        verdict: judgement(verdict, GOOD, failing(verdict))
        for verdict in (
            Verdict.WRONG_ANSWER,
            Verdict.TIME_LIMIT,
            Verdict.MEMORY_LIMIT,
            Verdict.OUTPUT_LIMIT,
        )
    },
    Verdict.RUNTIME_ERROR: judgement(
        Verdict.RUNTIME_ERROR,
        GOOD,
        failing(
            Verdict.RUNTIME_ERROR, program_exit=ProgramExit(RunStatus.SIGNALLED, signal=11)
        ),
    ),
    Verdict.COMPILE_ERROR: JuryJudgement(
        Verdict.COMPILE_ERROR,
        compiled=CompileRecord("python3", "3.11.7", ("cc", "main.c"), output="main.c:1: no"),
    ),
    Verdict.JUDGE_ERROR: judgement(Verdict.JUDGE_ERROR, GOOD, failing(Verdict.JUDGE_ERROR)),
}
"""One judgement for each verdict."""


async def judged_submission(
    pool: Pool,
    artifacts: Artifacts,
    account: AccountId,
    found: JuryJudgement,
    summary: ProblemSummary | None = None,
) -> SubmissionId:
    submission = await make_submission(pool, account, summary)
    await queue_submission(pool, submission)
    running = await start_submission(pool, submission)
    await settle(pool, artifacts, running, found)
    return submission
