"""A11, O6: who gets which events, and for how long."""

import hashlib
import json

import pytest

from deemster.api.auth import credential_cache
from deemster.api.feed import stream
from deemster.domain.errors import Unavailable
from deemster.domain.ids import (
    CONTEST,
    REJUDGING,
    SUBMISSION,
    AccountId,
    ContestId,
    RejudgingId,
    SubmissionId,
    new_id,
)
from deemster.domain.submission import NewSubmission
from deemster.pipeline.verdict.retry import retry_or_fail
from deemster.store.pool import Pool, connection
from deemster.store.submission_inserts import insert
from tests.api.conftest import Api
from tests.api.feed.event_client import EventClient, open_stream
from tests.builders import make_problem, make_submission, queue_submission, start_submission

HOST = "judge-7.example.org"


async def make_contest(pool: Pool) -> ContestId:
    contest = ContestId(new_id(CONTEST))
    async with connection(pool) as acquired:
        await acquired.execute(
            """INSERT INTO contest (id, title, opens_at, closes_at, problems)
               VALUES ($1, 'Cup', now(), now() + interval '1 hour', '{prob_sum}')""",
            contest,
        )
    return contest


async def make_trial(pool: Pool, account: AccountId, of: SubmissionId) -> SubmissionId:
    """Creates a trial as a rejudging does."""
    rejudging = RejudgingId(new_id(REJUDGING))
    async with connection(pool) as acquired:
        await acquired.execute(
            "INSERT INTO rejudging (id, wanted, matched) VALUES ($1, '{}', 1)", rejudging
        )
    return await hand_in(pool, account, rejudge_of=of, staged_in=rejudging)


async def hand_in(
    pool: Pool,
    account: AccountId,
    *,
    contest: ContestId | None = None,
    rejudge_of: SubmissionId | None = None,
    staged_in: RejudgingId | None = None,
) -> SubmissionId:
    summary = await make_problem(pool)
    new = NewSubmission(
        id=SubmissionId(new_id(SUBMISSION)),
        account=account,
        problem=summary.id,
        revision=summary.digest,
        language="python3",
        main="main.py",
        source=hashlib.sha256(b"source").hexdigest(),
        request_digest=hashlib.sha256(b"").digest(),
        contest=contest,
        rejudge_of=rejudge_of,
        staged_in=staged_in,
    )
    async with connection(pool) as acquired:
        await insert(acquired, new, b"source")
    return new.id


async def expect_events(stream_client: EventClient, *submissions: SubmissionId) -> None:
    """Expects exactly these events, in this order."""
    for submission in submissions:
        assert (await stream_client.event()).content["submission_id"] == submission


async def test_each_user_gets_the_events_of_their_own_submissions(
    ada: Api, bob: Api, admin: Api, pool: Pool
) -> None:
    """A11: without those of other users in between."""
    contest = await make_contest(pool)
    of_contest = f"/v1/contests/{contest}/events"
    async with (
        open_stream(ada, "/v1/events") as of_ada,
        open_stream(bob, "/v1/events") as of_bob,
        open_stream(admin, "/v1/events?all=true") as of_all,
        open_stream(admin, "/v1/events?user=bob") as of_user,
        open_stream(ada, of_contest) as of_ada_there,
        open_stream(admin, of_contest) as of_all_there,
    ):
        first = await hand_in(pool, ada.user.id)
        second = await hand_in(pool, bob.user.id, contest=contest)
        trial = await make_trial(pool, ada.user.id, first)
        third = await hand_in(pool, ada.user.id, contest=contest)
        fourth = await hand_in(pool, bob.user.id)
        await expect_events(of_ada, first, third)
        await expect_events(of_bob, second, fourth)
        await expect_events(of_all, first, second, trial, third, fourth)
        await expect_events(of_user, second, fourth)
        await expect_events(of_ada_there, third)
        await expect_events(of_all_there, second, third)

    begin = "0-0"
    for api, path, expected in (
        (ada, "/v1/events", [first, third]),
        (bob, "/v1/events", [second, fourth]),
        (admin, "/v1/events?all=true", [first, second, trial, third, fourth]),
        (admin, f"/v1/events?user={ada.user.id}", [first, trial, third]),
        (ada, of_contest, [third]),
        (admin, of_contest, [second, third]),
    ):
        async with open_stream(api, path, begin) as stream_client:
            await expect_events(stream_client, *expected)


async def test_streams_of_others_are_not_found(
    ada: Api, bob: Api, admin: Api, pool: Pool
) -> None:
    """A11: trials are not found either, even those of the own submissions."""
    submission = await make_submission(pool, ada.user.id)
    trial = await make_trial(pool, ada.user.id, submission)
    for api, path, status in (
        (bob, f"/v1/submissions/{submission}/events", 404),
        (ada, f"/v1/submissions/{trial}/events", 404),
        (ada, "/v1/submissions/sub_x/events", 404),
        (ada, f"/v1/contests/{submission}/events", 404),
        (ada, "/v1/contests/con_%00/events", 404),
        (bob, "/v1/events?all=true", 403),
        (bob, "/v1/events?user=ada", 403),
        (admin, "/v1/events?user=nobody", 404),
        (admin, "/v1/events?user=ada&all=true", 422),
        (ada, "/v1/events?everyone=true", 422),
    ):
        answer = await api.client.get(path, headers=api.user.headers)
        assert answer.status_code == status, (path, answer.text)
    assert (await ada.client.get("/v1/events")).status_code == 401
    for path in (f"/v1/submissions/{submission}/events", f"/v1/submissions/{trial}/events"):
        async with open_stream(admin, path) as stream_client:
            result = (await stream_client.event()).content
            assert result.get("staged") is (True if str(trial) in path else None)


async def test_only_admins_see_reasons(ada: Api, admin: Api, pool: Pool) -> None:
    """A11: reasons may name machines."""
    submission = await make_submission(pool, ada.user.id)
    await queue_submission(pool, submission)
    running = await start_submission(pool, submission)
    await retry_or_fail(pool, running, Unavailable("no"), max_tries=3)
    async with connection(pool) as acquired:
        await acquired.execute(
            "UPDATE work_event SET reason = $1 WHERE event = 'retry'", f"left {HOST}"
        )
    path = f"/v1/submissions/{submission}/events"
    for api, is_shown in ((ada, False), (admin, True)):
        for where, last in ((path, None), (f"/v1/events?user={ada.user.id}", "0-0")):
            async with open_stream(api, where, last) as stream_client:
                result = [await stream_client.event() for _ in range(4)]
            assert (HOST in json.dumps([each.data for each in result])) is is_shown
            assert result[-1].event == "submission.queued"


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE token SET revoked_at = now()",
        "UPDATE account SET disabled_at = now()",
        "UPDATE account SET role = 'user'",
        "UPDATE token SET scopes = '{submit}'",
    ],
)
async def test_a_stream_ends_when_its_client_loses_access(
    admin: Api, pool: Pool, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """O6: checked with every heartbeat."""
    monkeypatch.setattr(stream, "HEARTBEAT_S", 0.02)
    monkeypatch.setattr(credential_cache, "KEPT_S", 0.0)
    async with open_stream(admin, "/v1/events?all=true") as stream_client:
        assert await stream_client.block()
        assert await stream_client.block()
        async with connection(pool) as acquired:
            await acquired.execute(change)
        assert await stream_client.rest() == []
