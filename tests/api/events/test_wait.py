"""H1: `?wait=` answers when it has ended, or when that takes too long."""

import asyncio

import httpx
import pytest

from deemster.api.feed import waiting
from deemster.api.feed.feed import Feed
from deemster.domain.ids import SubmissionId
from deemster.domain.verdict import Verdict
from deemster.pipeline.verdict.settle import settle
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool
from tests.api.conftest import Api
from tests.api.events.event_client import finish
from tests.api.judging import JUDGEMENTS
from tests.builders import make_submission, queue_submission, start_submission
from tests.waiting import until


async def wait_for(api: Api, submission: SubmissionId, wait: object) -> httpx.Response:
    path = f"/v1/submissions/{submission}"
    params = {"wait": str(wait)}
    return await api.client.get(path, params=params, headers=api.user.headers)


async def test_who_waits_hears_the_verdict(
    ada: Api, pool: Pool, artifacts: Artifacts, feed: Feed
) -> None:
    submission = await make_submission(pool, ada.user.id)
    async with asyncio.TaskGroup() as group:
        asking = [group.create_task(wait_for(ada, submission, 30)) for _ in range(5)]
        await until(lambda: len(feed.audience) == 5)
        await queue_submission(pool, submission)
        running = await start_submission(pool, submission)
        await feed.catch_up()
        assert not any(each.done() for each in asking), "only its end is waited for"
        await settle(pool, artifacts, running, JUDGEMENTS[Verdict.PARTIAL])
    for each in asking:
        shown = each.result().json()
        assert (shown["status"], shown["verdict"]) == ("finished", "Partial")
    await until(lambda: len(feed.audience) == 0)


async def test_one_that_has_ended_is_shown_as_it_is(
    ada: Api, pool: Pool, artifacts: Artifacts, feed: Feed
) -> None:
    """Whatever was remembered of it a moment ago."""
    for _ in range(5):
        submission = await make_submission(pool, ada.user.id)
        await feed.catch_up()
        before = await ada.client.get(f"/v1/submissions/{submission}", headers=ada.user.headers)
        assert before.json()["status"] == "queued"
        await finish(pool, artifacts, submission)
        assert (await wait_for(ada, submission, 30)).json()["status"] == "finished"


async def test_nobody_waits_longer_than_the_longest(
    ada: Api, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert waiting.LONGEST_S == 30
    monkeypatch.setattr(waiting, "LONGEST_S", 0.05)
    submission = await make_submission(pool, ada.user.id)
    for wait in ("31", "100000", "1e300"):
        shown = await wait_for(ada, submission, wait)
        assert (shown.status_code, shown.json()["status"]) == (200, "queued")


@pytest.mark.parametrize("wait", ["-1", "soon", "nan", "inf", "", "1e999", "0x1"])
async def test_what_is_no_time_is_refused(ada: Api, pool: Pool, wait: str) -> None:
    submission = await make_submission(pool, ada.user.id)
    answer = await wait_for(ada, submission, wait)
    assert answer.status_code == 422
    assert [each["field"] for each in answer.json()["errors"]] == ["wait"]


async def test_others_do_not_wait_for_it(ada: Api, bob: Api, pool: Pool, feed: Feed) -> None:
    """A11: nor learn that it is there."""
    submission = await make_submission(pool, ada.user.id)
    assert (await wait_for(bob, submission, 30)).status_code == 404
    for odd in ("sub_x", "usr_1", "%00", bob.user.id):
        assert (await wait_for(bob, SubmissionId(odd), 30)).status_code == 404
    assert len(feed.audience) == 0


async def test_a_process_that_is_told_to_end_answers_who_waits(
    ada: Api, pool: Pool, feed: Feed
) -> None:
    submission = await make_submission(pool, ada.user.id)
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(wait_for(ada, submission, 30))
        await until(lambda: len(feed.audience) == 1)
        feed.drain()
    assert asking.result().json()["status"] == "queued"
