"""`GET /v1/submissions/{id}/judgement`: the jury's view, and who may see it."""

import dataclasses
from typing import Any

from deemster.domain.account import Role
from deemster.domain.judgement import JuryText
from deemster.domain.run_status import RunStatus
from deemster.domain.verdict import Verdict
from deemster.pipeline.verdict.retry import retry_or_fail
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool, connection
from tests.api.conftest import Api, make_user
from tests.api.judgements import GOOD, HIDDEN, JUDGEMENTS, failing, judged_submission, judgement
from tests.api.routes.test_metrics import numbers
from tests.builders import make_submission, start_submission


def path_of(submission: str) -> str:
    return f"/v1/submissions/{submission}/judgement"


async def test_o8_the_jury_and_the_author_see_the_whole_table_of_cases(
    ada: Api, admin: Api, pool: Pool, artifacts: Artifacts
) -> None:
    """O8: others, also authors of other problems, see nothing (A11)."""
    skipped = dataclasses.replace(GOOD, number=3, verdict=None)
    found = judgement(Verdict.WRONG_ANSWER, GOOD, failing(Verdict.WRONG_ANSWER), skipped)
    submission = await judged_submission(pool, artifacts, ada.user.id, found)
    author = Api(ada.client, await make_user(pool, "author", Role.AUTHOR))
    other = Api(ada.client, await make_user(pool, "other", Role.AUTHOR))
    async with connection(pool) as writing:
        await writing.execute("UPDATE problem SET owner_id = $1", author.user.id)

    shown = (await admin.get(path_of(submission))).json()
    assert (await author.get(path_of(submission))).json() == shown
    assert (await ada.get(path_of(submission))).status_code == 403
    assert (await other.get(path_of(submission))).status_code == 404

    assert [case["verdict"] for case in shown["cases"]] == ["Accepted", "Wrong Answer", None]
    assert shown["cases"][1] == {
        "number": 2,
        "name": f"secret/{HIDDEN}",
        "verdict": "Wrong Answer",
        "is_sample": False,
        "score": None,
        "time_ms": 34,
        "wall_ms": 8500,
        "memory_kb": 1200,
        "limit_ms": 2500,
        "runs": 1,
        "reason": None,
        "message": HIDDEN,
        "team_message": None,
        "jury_status": None,
        "output": f"{HIDDEN}got",
        "expected": f"{HIDDEN}expected",
        "stderr": f"{HIDDEN}stderr",
    }
    assert shown["compiler"]["version"] == "3.11.7"
    assert (shown["user"], shown["verdict"]) == ("ada", "Wrong Answer")


async def test_o8_a_judge_error_has_its_reason_in_api_log_and_metrics(
    ada: Api, admin: Api, pool: Pool, artifacts: Artifacts, log_lines: list[dict[str, Any]]
) -> None:
    """O8, A11: the log names what failed, without the texts of the jury's programs."""
    failed = failing(Verdict.JUDGE_ERROR, jury_status=RunStatus.WALL_LIMIT)
    found = dataclasses.replace(
        judgement(Verdict.JUDGE_ERROR, GOOD, failed), fault=JuryText(f"check ended. {HIDDEN}")
    )
    submission = await judged_submission(pool, artifacts, ada.user.id, found)
    await judged_submission(pool, artifacts, ada.user.id, JUDGEMENTS[Verdict.ACCEPTED])

    shown = (await admin.get(path_of(submission))).json()
    assert shown["error"] == f"check ended. {HIDDEN}"
    assert shown["cause"] == "checker_or_interactor_failed"
    assert shown["cases"][1]["jury_status"] == "wall_limit"
    [line] = [each for each in log_lines if each["event"] == "submission.judge_error"]
    assert line["log_level"] == "error"
    assert (line["reason"], line["case"]) == ("checker_or_interactor_failed", 2)
    assert line["see"] == f"deemster submission show {submission}"
    metrics = await numbers(admin)
    assert metrics["deemster_judge_errors_total checker_or_interactor_failed"] == 1


async def test_o8_a_submission_without_a_verdict_shows_why_to_admins(
    ada: Api, admin: Api, pool: Pool, log_lines: list[dict[str, Any]]
) -> None:
    """Q7: only admins see the error of a dead letter."""
    submission = await make_submission(pool, ada.user.id)
    waiting = (await admin.get(path_of(submission))).json()
    assert (waiting["status"], waiting["error"], waiting["cases"]) == ("queued", None, [])
    running = await start_submission(pool, submission)
    assert not await retry_or_fail(pool, running, RuntimeError("disk broken"), max_tries=1)
    [line] = [each for each in log_lines if each["event"] == "job.dead_letter"]
    assert (line["log_level"], line["error"]) == ("error", "RuntimeError: disk broken")
    author = Api(ada.client, await make_user(pool, "author", Role.AUTHOR))
    async with connection(pool) as writing:
        await writing.execute("UPDATE problem SET owner_id = $1", author.user.id)
    assert (await admin.get(path_of(submission))).json()["error"] == "RuntimeError: disk broken"
    assert (
        "The judge could not judge" in (await author.get(path_of(submission))).json()["error"]
    )
