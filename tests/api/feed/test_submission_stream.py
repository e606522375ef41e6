"""H1, J10: the stream of one submission, from its first event to its last."""

import httpx
import pytest

from deemster.api.feed import feed as feed_module
from deemster.api.feed import stream
from deemster.api.feed.feed import Feed
from deemster.domain.ids import WORKER, WorkerId, new_id
from deemster.domain.submission import JudgingProgress
from deemster.domain.verdict import Verdict
from deemster.pipeline.verdict.attempt import settle
from deemster.pipeline.verdict.cancel import cancel
from deemster.store import leases
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool, connection
from tests.api.conftest import Api
from tests.api.feed.event_client import finish, open_stream
from tests.api.judgements import HIDDEN, JUDGEMENTS
from tests.builders import make_submission, queue_submission, start_submission
from tests.waiting import until


async def test_the_stream_of_an_ended_submission_sends_all_events_and_ends(
    ada: Api, pool: Pool, artifacts: Artifacts
) -> None:
    """H1, S4"""
    submission = await make_submission(pool, ada.user.id)
    await finish(pool, artifacts, submission)
    path = f"/v1/submissions/{submission}/events"
    async with open_stream(ada, path) as stream_client:
        headers = stream_client.answer.headers
        assert headers["content-type"].startswith("text/event-stream")
        assert headers["cache-control"] == "no-cache"
        assert headers["x-accel-buffering"] == "no"
        first = await stream_client.block()
        assert first is not None
        assert (first.retry, first.event) == ("2000", None)
        result = await stream_client.rest()
    assert [each.event for each in result] == [
        "submission.queued",
        "submission.queued",
        "submission.running",
        "submission.finished",
    ]
    contents = [each.content for each in result]
    assert [each["state"] for each in contents] == ["pending", "queued", "running", "completed"]
    assert [each["status"] for each in contents] == ["queued", "queued", "running", "finished"]
    assert [each["attempt"] for each in contents] == [0, 0, 1, 1]
    assert {each["submission_id"] for each in contents} == {submission}
    last = contents[-1]
    assert (last["verdict"], last["passed_cases"], last["total_cases"]) == ("Accepted", 1, 1)
    assert last["runtime_ms"] == 12
    assert not any("verdict" in each for each in contents[:-1])

    async with open_stream(ada, path, result[1].id) as stream_client:
        assert await stream_client.rest() == result[2:]
    async with open_stream(ada, f"{path}?last_event_id={result[2].id}") as stream_client:
        assert await stream_client.rest() == result[3:]
    over = await ada.client.get(
        path, headers={**ada.user.headers, "Last-Event-ID": result[3].id or ""}
    )
    assert (over.status_code, over.content) == (204, b""), "so that EventSource stops"


async def test_each_step_is_sent_when_it_happens(
    ada: Api, pool: Pool, artifacts: Artifacts, feed: Feed
) -> None:
    submission = await make_submission(pool, ada.user.id)
    async with open_stream(ada, f"/v1/submissions/{submission}/events") as stream_client:
        assert (await stream_client.event()).content["state"] == "pending"
        await queue_submission(pool, submission)
        assert (await stream_client.event()).content["state"] == "queued"
        running = await start_submission(pool, submission)
        assert (await stream_client.event()).content["state"] == "running"
        await settle(pool, artifacts, running, JUDGEMENTS[Verdict.WRONG_ANSWER])
        last = await stream_client.event()
        assert last.content["verdict"] == "Wrong Answer"
        assert await stream_client.rest() == []
    await until(lambda: len(feed.subscriptions) == 0)


async def test_a_cancellation_is_sent(ada: Api, pool: Pool) -> None:
    submission = await make_submission(pool, ada.user.id)
    async with open_stream(ada, f"/v1/submissions/{submission}/events") as stream_client:
        await stream_client.event()
        await cancel(pool, submission)
        assert [each.event for each in await stream_client.rest()] == ["submission.cancelled"]


async def test_progress_is_sent_while_a_submission_runs(
    ada: Api, pool: Pool, artifacts: Artifacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """J10: without an id, so that a client does not resume from it."""
    monkeypatch.setattr(feed_module, "PROGRESS_S", 0.02)
    submission = await make_submission(pool, ada.user.id)
    await queue_submission(pool, submission)
    worker = WorkerId(new_id(WORKER))
    running = await start_submission(pool, submission, worker)
    async with open_stream(ada, f"/v1/submissions/{submission}/events") as stream_client:
        for _ in range(3):
            await stream_client.event()
        for done in (1, 2):
            beat = {(submission, running.attempt): JudgingProgress(done, 3)}
            async with connection(pool) as acquired:
                assert await leases.renew(acquired, worker, beat) == {submission}
            result = await stream_client.event()
            assert (result.event, result.id, result.data) == (
                "progress",
                None,
                f'{{"case":{done},"of":3}}',
            )
        await settle(pool, artifacts, running, JUDGEMENTS[Verdict.ACCEPTED])
        assert [each.event for each in await stream_client.rest()] == ["submission.finished"]


async def test_a_silent_stream_sends_heartbeats(
    ada: Api, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "HEARTBEAT_S", 0.02)
    submission = await make_submission(pool, ada.user.id)
    async with open_stream(ada, f"/v1/submissions/{submission}/events") as stream_client:
        await stream_client.event()
        for _ in range(3):
            block = await stream_client.block()
            assert block is not None
            assert block.comment


@pytest.mark.parametrize("verdict", Verdict)
async def test_no_event_reveals_hidden_tests(
    ada: Api, pool: Pool, artifacts: Artifacts, verdict: Verdict
) -> None:
    """A11"""
    submission = await make_submission(pool, ada.user.id)
    await queue_submission(pool, submission)
    running = await start_submission(pool, submission)
    await settle(pool, artifacts, running, JUDGEMENTS[verdict])
    answer = await ada.client.get(
        f"/v1/submissions/{submission}/events", headers=ada.user.headers
    )
    assert verdict in answer.text
    assert HIDDEN not in answer.text
    async with connection(pool) as acquired:
        kept = await acquired.fetchval(
            "SELECT content FROM artifact WHERE digest = (SELECT jury FROM judgement)"
        )
    assert verdict is Verdict.COMPILE_ERROR or HIDDEN.encode() in kept, "it was there to leak"


@pytest.mark.parametrize(
    "wrong",
    ["x", "1", "1-", "-1", "1-2-3", "-1-2", "1-9223372036854775808", "\u0661-\u0662", "1" * 65],
)
async def test_an_invalid_event_id_is_refused(ada: Api, pool: Pool, wrong: str) -> None:
    submission = await make_submission(pool, ada.user.id)
    for path in (f"/v1/submissions/{submission}/events", "/v1/events"):
        by_query = await ada.client.get(
            path, params={"last_event_id": wrong}, headers=ada.user.headers
        )
        raw = [*ada.user.headers.items(), ("Last-Event-ID", wrong)]
        by_header = await ada.client.get(path, headers=httpx.Headers(raw, encoding="utf-8"))
        for answer in (by_query, by_header):
            assert answer.status_code == 422, answer.text
            assert answer.json()["type"] == "urn:deemster:error:invalid"
