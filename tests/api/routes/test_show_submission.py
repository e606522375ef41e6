"""A2, A4, S4, J6, J10: the fields of a submission, from its creation to its verdict."""

import asyncio
from typing import Any

import pytest

from deemster.domain.ids import SubmissionId, WorkerId
from deemster.domain.job import StagePolicy, Task
from deemster.domain.judgement import CaseSoFar, JuryJudgement, ProgramExit
from deemster.domain.run_status import RunStatus
from deemster.domain.submission import JudgingProgress
from deemster.domain.verdict import Verdict
from deemster.pipeline.verdict.attempt import settle
from deemster.pipeline.verdict.retry import retry_or_fail
from deemster.store import leases, workers
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool, connection
from tests.api.conftest import Api, make_user, make_worker
from tests.api.judgements import GOOD, JUDGEMENTS, failing, judged_submission, judgement
from tests.builders import (
    judged,
    make_problem,
    make_submission,
    queue_submission,
    start_submission,
)
from tests.waiting import PATIENCE_S

ALWAYS = {
    "id",
    "status",
    "verdict",
    "problem_id",
    "language",
    "user_id",
    "user",
    "submitted_at",
    "revision",
}
RAN = ALWAYS | {"started_at", "finished_at"}
ANALYSIS = StagePolicy(frozenset({Task.ANALYZE}), frozenset({Task.ANALYZE}))
FIGURES = {"runtime_ms", "memory_kb", "passed_cases", "total_cases", "compiler"}


async def test_a_queued_submission_shows_its_position(ada: Api, bob: Api, pool: Pool) -> None:
    """A4: in queue order: a user's second submission comes after everyone's first."""
    worker = await make_worker(pool, slots=2)
    async with connection(pool) as acquired:
        await workers.heartbeat(acquired, worker, busy=0, cycle_s=0.5)
    first = await make_submission(pool, ada.user.id)
    second = await make_submission(pool, ada.user.id)
    other = await make_submission(pool, bob.user.id)
    await queue_submission(pool, first)
    shown = {each: await api.show(each) for each, api in [(first, ada), (second, ada)]}
    shown[other] = await bob.show(other)
    assert {each["status"] for each in shown.values()} == {"queued"}
    assert {each["verdict"] for each in shown.values()} == {None}
    assert [shown[each]["queue_position"] for each in (first, other, second)] == [1, 2, 3]
    waits = [shown[each]["estimated_wait_s"] for each in (first, other, second)]
    assert waits == [0, 0.25, 0.5]
    assert set(shown[first]) == ALWAYS | {"queue_position", "estimated_wait_s"}


async def test_without_workers_the_estimated_wait_is_unknown(ada: Api, pool: Pool) -> None:
    shown = await ada.show(await make_submission(pool, ada.user.id))
    assert shown["queue_position"] == 1
    assert shown["estimated_wait_s"] is None


async def test_a_running_submission_shows_its_progress(ada: Api, pool: Pool) -> None:
    """J10."""
    submission = await make_submission(pool, ada.user.id)
    worker = WorkerId("wrk_x")
    running = await start_submission(pool, submission, worker)
    async with connection(pool) as acquired:
        cases = (CaseSoFar(1, Verdict.ACCEPTED, 12, 3400),)
        done = {(submission, running.attempt): JudgingProgress(17, 72, cases)}
        assert await leases.renew(acquired, worker, done) == {submission}
    shown = await ada.show(submission)
    assert shown["status"] == "running"
    case = {"number": 1, "verdict": "Accepted", "runtime_ms": 12, "memory_kb": 3400}
    assert shown["progress"] == {"case": 17, "of": 72, "cases": [case]}
    assert set(shown) == ALWAYS | {"started_at", "progress"}


async def show(
    ada: Api, pool: Pool, artifacts: Artifacts, found: JuryJudgement
) -> dict[str, Any]:
    return await ada.show(await judged_submission(pool, artifacts, ada.user.id, found))


EXTRA: dict[Verdict, dict[str, Any]] = {
    Verdict.ACCEPTED: {},
    Verdict.PARTIAL: {
        "score": 40.0,
        "max_score": 100.0,
        "groups": [
            {
                "name": "one",
                "verdict": "Accepted",
                "skipped": False,
                "score": 40.0,
                "max_score": 40.0,
            },
            {
                "name": "two",
                "verdict": None,
                "skipped": True,
                "score": 0.0,
                "max_score": 60.0,
            },
        ],
    },
    Verdict.WRONG_ANSWER: {"failed_case": 2},
    Verdict.TIME_LIMIT: {
        "failed_case": 2,
        "limit_ms": 2500,
        "reason": "idle: the program used 0.034 s of CPU time in 8.5 s, so it slept or waited, "
        "perhaps for input",
    },
    Verdict.MEMORY_LIMIT: {"failed_case": 2},
    Verdict.OUTPUT_LIMIT: {"failed_case": 2},
    Verdict.RUNTIME_ERROR: {"failed_case": 2, "reason": "segmentation fault (signal 11)"},
    Verdict.COMPILE_ERROR: {"compiler_output": "main.c:1: no"},
    Verdict.JUDGE_ERROR: {"failed_case": 2},
}


@pytest.mark.parametrize("verdict", Verdict)
async def test_each_verdict_shows_its_fields(
    ada: Api, pool: Pool, artifacts: Artifacts, verdict: Verdict
) -> None:
    """A2, A3, J6: and no other fields."""
    shown = await show(ada, pool, artifacts, JUDGEMENTS[verdict])
    extra = EXTRA[verdict]
    assert set(shown) == RAN | FIGURES | set(extra)
    assert {name: shown[name] for name in extra} == extra
    assert (shown["status"], shown["verdict"]) == ("finished", verdict.value)
    assert shown["compiler"]["version"] == "3.11.7"
    assert shown["compiler"]["command"]
    cases = JUDGEMENTS[verdict].cases
    assert shown["total_cases"] == len(cases)
    assert shown["passed_cases"] == (1 if cases else 0)
    slowest, peak = {0: (0, 0), 1: (12, 900), 2: (34, 1200)}[len(cases)]
    assert (shown["runtime_ms"], shown["memory_kb"]) == (slowest, peak)


async def test_a_wrong_answer_to_a_sample_shows_both_outputs(
    ada: Api, pool: Pool, artifacts: Artifacts
) -> None:
    """A2."""
    wrong = failing(Verdict.WRONG_ANSWER, sample=True, team_message="Too low.")
    shown = await show(ada, pool, artifacts, judgement(Verdict.WRONG_ANSWER, GOOD, wrong))
    assert shown["failed_case"] == 2
    assert (shown["expected"], shown["got"]) == ("visible expected", "visible got")
    assert (shown["message"], shown["stderr"]) == ("Too low.", "visible stderr")


@pytest.mark.parametrize(
    ("program_exit", "reason"),
    [
        (ProgramExit(RunStatus.SIGNALLED, signal=6), "aborted (signal 6)"),
        (ProgramExit(RunStatus.NONZERO_EXIT, exit_code=3), "exit code 3"),
        (
            ProgramExit(RunStatus.FORBIDDEN_SYSCALL, syscall="socket"),
            "forbidden system call socket",
        ),
    ],
)
async def test_a_runtime_error_shows_its_cause(
    ada: Api, pool: Pool, artifacts: Artifacts, program_exit: ProgramExit, reason: str
) -> None:
    """A2, X4."""
    case = failing(Verdict.RUNTIME_ERROR, program_exit=program_exit)
    shown = await show(ada, pool, artifacts, judgement(Verdict.RUNTIME_ERROR, case))
    assert shown["reason"] == reason


async def test_the_verdict_is_shown_while_later_stages_run(
    ada: Api, pool: Pool, artifacts: Artifacts
) -> None:
    """S5, H1: analysis comes later and does not delay the verdict, nor clients that wait."""
    submission = await make_submission(pool, ada.user.id)
    running = await start_submission(pool, submission)
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        waiting = group.create_task(ada.get(f"/v1/submissions/{submission}?wait=30"))
        await settle(pool, artifacts, running, judged(), stages=ANALYSIS)
    shown = await ada.show(submission)
    assert (shown["status"], shown["verdict"]) == ("analyzing", "Accepted")
    assert (shown["runtime_ms"], shown["passed_cases"]) == (30, 3)
    assert "finished_at" not in shown
    assert waiting.result().json() == shown


async def test_a_failed_submission_says_that_the_judge_failed(ada: Api, pool: Pool) -> None:
    """S3."""
    submission = await make_submission(pool, ada.user.id)
    running = await start_submission(pool, submission)
    assert not await retry_or_fail(pool, running, RuntimeError("/var/secret"), max_tries=1)
    shown = await ada.show(submission)
    assert (shown["status"], shown["verdict"]) == ("failed", None)
    assert "The program is not the cause" in shown["error"]
    assert "secret" not in shown["error"]
    assert set(shown) == RAN | {"error"}


async def test_a_submission_of_another_user_is_not_found(
    ada: Api, bob: Api, admin: Api, pool: Pool, artifacts: Artifacts
) -> None:
    """A11: the response is the same as for an id that does not exist."""
    found = JUDGEMENTS[Verdict.ACCEPTED]
    submission = await judged_submission(pool, artifacts, ada.user.id, found)
    unheard = SubmissionId("sub_" + "0" * 26)
    for path in ("", "/source"):
        theirs = await bob.get(f"/v1/submissions/{submission}{path}")
        nobodys = await bob.get(f"/v1/submissions/{unheard}{path}")
        assert theirs.status_code == nobodys.status_code == 404
        hidden = {"request_id": None}
        assert {**theirs.json(), **hidden} == {**nobodys.json(), **hidden}
    assert (await admin.show(submission))["user"] == "ada"


@pytest.mark.parametrize("name", ["sub_x", "%00", "sub_" + "0" * 26 + "0", "usr_1", "a b"])
async def test_an_invalid_id_is_not_found(admin: Api, name: str) -> None:
    answer = await admin.get(f"/v1/submissions/{name}")
    assert answer.status_code == 404
    assert answer.json()["type"] == "urn:deemster:error:not_found"


async def test_a_submission_keeps_the_limit_of_its_revision(
    pool: Pool, ada: Api, artifacts: Artifacts
) -> None:
    """J9: the verdict refers to the revision that judged it."""
    found = judgement(Verdict.TIME_LIMIT, failing(Verdict.TIME_LIMIT))
    submission = await judged_submission(pool, artifacts, ada.user.id, found)
    await make_problem(pool, text="second", cases=9)
    shown = await ada.show(submission)
    assert (shown["limit_ms"], shown["total_cases"]) == (2500, 1)


async def test_authors_see_no_more_than_users(
    pool: Pool, ada: Api, artifacts: Artifacts
) -> None:
    author = Api(ada.client, await make_user(pool, "writer"))
    found = JUDGEMENTS[Verdict.ACCEPTED]
    submission = await judged_submission(pool, artifacts, ada.user.id, found)
    assert (await author.get(f"/v1/submissions/{submission}")).status_code == 404
