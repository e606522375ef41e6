"""P1, P2, S5: analyses of submissions and executions through the API."""

import json

import httpx
import pytest

from deemster.domain.account import Role
from deemster.domain.errors import Unavailable
from deemster.domain.ids import AccountId, SubmissionId
from deemster.domain.job import StagePolicy, Task
from deemster.domain.lifecycle import Event
from deemster.domain.stored_analysis import AnalysisRecord, compress
from deemster.pipeline.verdict import rejudging_set
from deemster.pipeline.verdict.attempt import settle
from deemster.pipeline.verdict.follow_up import enter_stage, give_up_stage
from deemster.pipeline.verdict.retry import fail
from deemster.store import analyses
from deemster.store.artifacts import Artifacts
from deemster.store.audit import Actor
from deemster.store.lifecycle import advance
from deemster.store.pool import Pool, connection, transaction
from deemster.store.rejudgings import RejudgingFilter
from deemster.store.stages import count_scores, find_mismatches
from tests.api.conftest import Api, make_user
from tests.builders import judged, make_execution, make_submission, start_submission

ANALYSIS = StagePolicy(frozenset({Task.ANALYZE}), frozenset({Task.ANALYZE}))
LOG = {"version": "2.1.0", "runs": []}
RECORD = AnalysisRecord(
    sarif=compress(json.dumps(LOG)),
    scores={"style": 90, "security": None},
    tools={"ruff": "0.1", "lizard": None},
    findings=3,
)


async def judge(
    pool: Pool, artifacts: Artifacts, account: AccountId, policy: StagePolicy = ANALYSIS
) -> tuple[SubmissionId, int]:
    running = await start_submission(pool, await make_submission(pool, account))
    await settle(pool, artifacts, running, judged(), stages=policy)
    return running.id, running.attempt


async def finish(pool: Pool, submission: SubmissionId, attempt: int) -> None:
    async with transaction(pool) as writing:
        await enter_stage(writing, submission, attempt, [], after=Task.ANALYZE)
        await analyses.record(writing, submission, attempt, RECORD)
        await count_scores(writing, submission)


async def test_an_analysis_is_shown_when_it_has_ended(
    ada: Api, bob: Api, pool: Pool, artifacts: Artifacts
) -> None:
    submission, attempt = await judge(pool, artifacts, ada.user.id)
    path = f"/v1/submissions/{submission}/analysis"
    waiting = await ada.get(path)
    assert (waiting.status_code, waiting.headers["Retry-After"]) == (409, "2")
    assert waiting.json()["type"] == "urn:deemster:error:analysis_pending"
    await finish(pool, submission, attempt)
    shown = await ada.get(path)
    assert shown.headers["Content-Type"] == "application/sarif+json"
    assert shown.json() == LOG
    assert (await bob.get(path)).status_code == 404
    assert (await ada.show(submission))["status"] == "finished"


async def test_a_submission_that_is_not_judged_yet_has_no_analysis_yet(
    ada: Api, pool: Pool
) -> None:
    submission = await make_submission(pool, ada.user.id)
    shown = await ada.get(f"/v1/submissions/{submission}/analysis")
    assert shown.status_code == 409
    assert "judged first" in shown.json()["detail"]


async def test_a_missing_analysis_says_why(ada: Api, pool: Pool, artifacts: Artifacts) -> None:
    """S5: also for one that failed, which changes no verdict."""
    off, _ = await judge(pool, artifacts, ada.user.id, StagePolicy())
    shown = await ada.get(f"/v1/submissions/{off}/analysis")
    assert shown.status_code == 404
    assert "was off" in shown.json()["detail"]
    failed, attempt = await judge(pool, artifacts, ada.user.id)
    async with transaction(pool) as writing:
        await give_up_stage(writing, failed, attempt, (Task.ANALYZE,), "Unavailable: no tool")
    shown = await ada.get(f"/v1/submissions/{failed}/analysis")
    assert (shown.status_code, shown.json()["type"]) == (404, "urn:deemster:error:not_analyzed")
    assert "The verdict is not affected" in shown.json()["detail"]
    assert (await ada.show(failed))["verdict"] == "Accepted"


@pytest.mark.parametrize("times", [1, 2])
async def test_a9_an_analysis_of_a_submission_that_was_replaced_meanwhile_is_shown_later(
    ada: Api, pool: Pool, artifacts: Artifacts, times: int
) -> None:
    """A9: sets were applied before the stages of the old submission had ended."""
    old, attempt = await judge(pool, artifacts, ada.user.id)
    trial = old
    for _ in range(times):
        wanted = RejudgingFilter(ids=[trial])
        made = (await rejudging_set.make(pool, wanted, Actor("root"))).rejudging.id
        async with connection(pool) as acquired:
            trial = await acquired.fetchval(
                "SELECT id FROM submission WHERE staged_in = $1", made
            )
        await settle(pool, artifacts, await start_submission(pool, trial), judged())
        await rejudging_set.apply(pool, made, Actor("root"))
    path = f"/v1/submissions/{trial}/analysis"
    waiting = await ada.get(path)
    assert (waiting.status_code, waiting.headers["Retry-After"]) == (409, "2")
    async with transaction(pool) as writing:
        await enter_stage(writing, old, attempt, [Task.FINALIZE], after=Task.ANALYZE)
        await analyses.record(writing, old, attempt, RECORD)
    assert (await ada.get(path)).status_code == 409
    async with transaction(pool) as writing:
        await enter_stage(writing, old, attempt, [], after=Task.FINALIZE)
        await count_scores(writing, old)
    assert (await ada.get(path)).json() == LOG


async def test_q7_a_failed_analysis_can_be_repeated_by_an_admin(
    ada: Api, admin: Api, pool: Pool, artifacts: Artifacts
) -> None:
    submission, attempt = await judge(pool, artifacts, ada.user.id)
    async with transaction(pool) as writing:
        await give_up_stage(writing, submission, attempt, (Task.ANALYZE,), "Unavailable: no")
    [letter] = (await admin.get("/v1/admin/dead-letters")).json()["items"]
    assert (letter["task"], letter["submission_id"]) == ("submission:analyze", submission)
    again = await admin.post(f"/v1/admin/dead-letters/{letter['number']}/requeue", {})
    assert (again.status_code, again.json()) == (202, {"status": "queued"})
    path = f"/v1/submissions/{submission}/analysis"
    async with connection(pool) as acquired:
        requested = await acquired.fetchval("SELECT id FROM work WHERE kind = 'analysis'")
        details = await analyses.request_details(acquired, requested)
        assert details is not None
        assert (details.subject, details.source is not None) == (submission, True)
        await advance(acquired, Event.PUBLISH, requested, 0)
        await advance(acquired, Event.START, requested, 0)
        await analyses.record(acquired, submission, 1, RECORD)
    assert (await ada.get(path)).json() == LOG
    [letter] = (await admin.get("/v1/admin/dead-letters?state=all")).json()["items"]
    assert letter["requeued_as"] == requested


async def test_an_execution_is_analysed_on_request(ada: Api, bob: Api, pool: Pool) -> None:
    """P1: once, however often it is requested."""
    execution = await make_execution(pool, ada.user.id)
    path = f"/v1/executions/{execution}/analysis"
    assert "request it by POST" in (await ada.get(path)).json()["detail"]
    assert (await bob.post(path, {})).status_code == 404
    for _ in range(2):
        requested = await ada.post(path, {})
        assert (requested.status_code, requested.json()) == (202, {"status": "queued"})
        assert requested.headers["Location"] == path
    assert (await ada.get(path)).status_code == 409
    async with connection(pool) as acquired:
        tasks = await acquired.fetch("SELECT task FROM outbox WHERE task LIKE 'analysis%'")
        assert [row["task"] for row in tasks] == ["analysis:run"]
        await analyses.record(acquired, execution, 1, RECORD)
    assert (await ada.get(path)).json() == LOG
    assert (await ada.post(path, {})).json() == {"status": "finished"}


async def test_a_request_that_failed_says_so_and_can_be_repeated(ada: Api, pool: Pool) -> None:
    execution = await make_execution(pool, ada.user.id)
    path = f"/v1/executions/{execution}/analysis"
    await ada.post(path, {})
    async with transaction(pool) as writing:
        requested = await writing.fetchval("SELECT id FROM work WHERE kind = 'analysis'")
        await advance(writing, Event.PUBLISH, requested, 0)
        await advance(writing, Event.START, requested, 0)
        error = str(Unavailable("no tool"))
        await fail(writing, requested, Task.ANALYZE_LATER, 1, error)
    assert "failed" in (await ada.get(path)).json()["detail"]
    assert (await ada.post(path, {})).json() == {"status": "queued"}
    assert (await ada.get(path)).status_code == 409


async def test_deleting_an_execution_deletes_its_analysis(ada: Api, pool: Pool) -> None:
    execution = await make_execution(pool, ada.user.id)
    await ada.post(f"/v1/executions/{execution}/analysis", {})
    async with connection(pool) as acquired:
        await analyses.record(acquired, execution, 1, RECORD)
        await acquired.execute("DELETE FROM work WHERE id = $1", execution)
        assert await acquired.fetchval("SELECT count(*) FROM work") == 0
        assert await acquired.fetchval("SELECT count(*) FROM analysis") == 0


@pytest.fixture
async def author(client: httpx.AsyncClient, pool: Pool) -> Api:
    return Api(client, await make_user(pool, "eve", Role.AUTHOR))


async def test_a_problem_has_stages_and_mean_scores(
    ada: Api, author: Api, admin: Api, pool: Pool, artifacts: Artifacts
) -> None:
    """P1: its author or an admin sets them, with an entry in the audit log."""
    finished = [await judge(pool, artifacts, ada.user.id) for _ in range(2)]
    path = "/v1/problems/prob_sum/stages"
    assert (await admin.get(path)).json() == {"stages": None}
    assert (await author.put(path, {"stages": []})).status_code == 404
    assert (await ada.put(path, {"stages": []})).status_code == 403
    changed = await admin.put(path, {"stages": ["evaluate_ai", "analyze"]})
    assert changed.json() == {"stages": ["analyze", "evaluate_ai"]}
    assert (await admin.get(path)).json() == changed.json()
    assert (await admin.put(path, {"stages": ["guess"]})).status_code == 422
    for submission, attempt in finished:
        await finish(pool, submission, attempt)
    scores = (await admin.get("/v1/problems/prob_sum/scores")).json()
    assert scores == {"scores": {"style": {"submissions": 2, "mean": 90}}}
    rejudged = await admin.post(f"/v1/submissions/{finished[0][0]}/rejudge", {})
    assert rejudged.status_code == 202
    scores = (await admin.get("/v1/problems/prob_sum/scores")).json()
    assert scores == {"scores": {"style": {"submissions": 1, "mean": 90}}}
    async with connection(pool) as acquired:
        assert await find_mismatches(acquired) == []


@pytest.mark.parametrize("stages", [["analyze"], [], None])
async def test_a_contest_has_stages(admin: Api, pool: Pool, stages: list[str] | None) -> None:
    await make_submission(pool)
    body = {
        "title": "x",
        "opens_at": "2026-01-01T00:00:00Z",
        "closes_at": "2026-01-02T00:00:00Z",
        "problems": ["prob_sum"],
    }
    made = await admin.post("/v1/contests", {**body, "stages": stages})
    assert made.status_code == 201, made.text
    assert made.json().get("stages") == stages
