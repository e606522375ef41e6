"""H1: `?wait=` answers when the submission has ended, or after the time limit."""

import asyncio
from collections.abc import MutableMapping, Sequence
from typing import Any

import httpx
import pytest

from deemster.api.app import create_app
from deemster.api.feed.feed import Feed
from deemster.domain.ids import SubmissionId
from deemster.domain.verdict import Verdict
from deemster.pipeline.verdict.attempt import settle
from deemster.store.artifacts import Artifacts
from deemster.store.events import current_snapshot
from deemster.store.pool import Pool, connection
from tests.api.conftest import Api, MakeDependencies, make_user, running
from tests.api.feed.event_client import finish
from tests.api.judgements import JUDGEMENTS
from tests.builders import make_submission, queue_submission, start_submission
from tests.waiting import until


async def wait_for(api: Api, submission: SubmissionId, wait: object) -> httpx.Response:
    path = f"/v1/submissions/{submission}"
    params = {"wait": str(wait)}
    return await api.client.get(path, params=params, headers=api.user.headers)


def is_waiting(feed: Feed) -> bool:
    """Whether a request has looked at its submission, and now waits for its end."""
    return any(event._waiters for events in feed.settled._events.values() for event in events)


async def test_a_waiting_request_gets_the_verdict(
    ada: Api, pool: Pool, artifacts: Artifacts, feed: Feed
) -> None:
    submission = await make_submission(pool, ada.user.id)
    async with asyncio.TaskGroup() as group:
        asking = [group.create_task(wait_for(ada, submission, 30)) for _ in range(5)]
        await until(lambda: len(feed.settled) == 5)
        await queue_submission(pool, submission)
        running = await start_submission(pool, submission)
        await feed.catch_up()
        assert not any(each.done() for each in asking), "only its end is waited for"
        await settle(pool, artifacts, running, JUDGEMENTS[Verdict.PARTIAL])
    for each in asking:
        shown = each.result().json()
        assert (shown["status"], shown["verdict"]) == ("finished", "Partial")
    await until(lambda: len(feed.settled) == 0)


async def test_an_ended_submission_is_shown_at_once(
    ada: Api, pool: Pool, artifacts: Artifacts, feed: Feed
) -> None:
    """Even if an older status is cached."""
    for _ in range(5):
        submission = await make_submission(pool, ada.user.id)
        await feed.catch_up()
        before = await ada.client.get(f"/v1/submissions/{submission}", headers=ada.user.headers)
        assert before.json()["status"] == "queued"
        await finish(pool, artifacts, submission)
        assert (await wait_for(ada, submission, 30)).json()["status"] == "finished"


async def test_h1_the_wait_is_limited(make_dependencies: MakeDependencies, pool: Pool) -> None:
    async with running(create_app(make_dependencies(longest_wait_s=0.05))) as client:
        ada = Api(client, await make_user(pool, "ada"))
        submission = await make_submission(pool, ada.user.id)
        for wait in ("31", "100000", "1e300"):
            shown = await wait_for(ada, submission, wait)
            assert (shown.status_code, shown.json()["status"]) == (200, "queued")


async def test_d2_a_user_has_a_limited_number_of_waiting_requests(
    make_dependencies: MakeDependencies, pool: Pool, artifacts: Artifacts
) -> None:
    app = create_app(make_dependencies(waits_per_user=2))
    feed: Feed = app.state.app_state.feed
    async with running(app) as client, asyncio.TaskGroup() as group:
        ada = Api(client, await make_user(pool, "ada"))
        submission = await make_submission(pool, ada.user.id)
        asking = [group.create_task(wait_for(ada, submission, 30)) for _ in range(2)]
        await until(lambda: len(feed.settled) == 2)
        refused = await wait_for(ada, submission, 30)
        assert (refused.status_code, int(refused.headers["retry-after"]) > 0) == (429, True)
        assert (await wait_for(ada, submission, 0)).status_code == 200
        await finish(pool, artifacts, submission)
        assert [(await each).status_code for each in asking] == [200, 200]
        assert not feed.waits


@pytest.mark.parametrize("wait", ["-1", "soon", "nan", "inf", "", "1e999", "0x1"])
async def test_an_invalid_wait_is_refused(ada: Api, pool: Pool, wait: str) -> None:
    submission = await make_submission(pool, ada.user.id)
    answer = await wait_for(ada, submission, wait)
    assert answer.status_code == 422
    assert [each["field"] for each in answer.json()["errors"]] == ["wait"]


async def test_other_users_can_not_wait_for_a_submission(
    ada: Api, bob: Api, pool: Pool, feed: Feed
) -> None:
    """A11: and they don't learn that it exists."""
    submission = await make_submission(pool, ada.user.id)
    assert (await wait_for(bob, submission, 30)).status_code == 404
    for odd in ("sub_x", "usr_1", "%00", bob.user.id):
        assert (await wait_for(bob, SubmissionId(odd), 30)).status_code == 404
    assert len(feed.settled) == 0


async def test_a_process_that_ends_answers_waiting_requests(
    ada: Api, pool: Pool, feed: Feed
) -> None:
    submission = await make_submission(pool, ada.user.id)
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(wait_for(ada, submission, 30))
        await until(lambda: len(feed.settled) == 1)
        feed.drain()
    assert asking.result().json()["status"] == "queued"


async def test_after_an_outage_a_waiting_request_is_answered(
    make_dependencies: MakeDependencies,
    pool: Pool,
    artifacts: Artifacts,
    log_lines: Sequence[MutableMapping[str, Any]],
) -> None:
    """A server that crashed may reuse a transaction number that the feed has seen."""
    app = create_app(make_dependencies(longest_wait_s=300))
    feed: Feed = app.state.app_state.feed
    async with running(app) as client, asyncio.TaskGroup() as group:
        ada = Api(client, await make_user(pool, "ada"))
        submission = await make_submission(pool, ada.user.id)
        asking = group.create_task(wait_for(ada, submission, 300))
        await until(lambda: is_waiting(feed))
        async with connection(pool) as acquired:
            async with feed._reading:
                await finish(pool, artifacts, submission)
                feed._snapshot = await current_snapshot(acquired)
            await acquired.execute("ALTER TABLE work_event RENAME TO away")
            await until(lambda: "events.interrupted" in [each["event"] for each in log_lines])
            assert not asking.done()
            await acquired.execute("ALTER TABLE away RENAME TO work_event")
        await until(asking.done)
