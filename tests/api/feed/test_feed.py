"""The feed: slow clients, disconnects, limits, and outages of the database."""

import asyncio
import socket
from collections.abc import MutableMapping, Sequence
from typing import Any

import asyncpg
import httpx
import pytest

from deemster.api.feed import feed as feed_module
from deemster.api.feed import replay, stream, subscriptions
from deemster.api.feed.feed import Feed
from deemster.api.feed.messages import EventMessage
from deemster.api.feed.stream import StreamWriter
from deemster.api.feed.subscriptions import Subscriber, Topic
from deemster.domain.ids import SubmissionId
from deemster.domain.judgement import CaseSoFar
from deemster.domain.submission import JudgingProgress
from deemster.domain.verdict import Verdict
from deemster.metrics import STREAMS
from deemster.pipeline.verdict.cancel import cancel
from deemster.store import events as stored
from deemster.store.events import ChangedWork, EventCursor
from deemster.store.pool import DatabaseDown, Pool, connection
from tests.api.conftest import Api
from tests.api.feed.event_client import open_stream
from tests.builders import make_account, make_submission, queue_submission, start_submission
from tests.waiting import until

MANY = 6_000
"""More events than the buffers of a socket hold."""
BEYOND = 2**61 + 1_000
"""A transaction number that no server in the tests has reached."""


async def test_pending_messages_of_a_subscriber_are_limited(pool: Pool) -> None:
    submission = await make_submission(pool)
    async with connection(pool) as acquired:
        (event,) = await stored.list_of_work(acquired, [submission])
    listener = Subscriber(Topic(work=submission), None, max_pending=3)
    for _ in range(3):
        listener.offer(EventMessage(event))
    assert len(await listener.wait()) == 3
    assert not listener.is_closed
    for _ in range(4):
        listener.offer(EventMessage(event))
    assert listener.is_closed
    assert await listener.wait() == []
    listener.offer(EventMessage(event))
    assert await listener.wait(0.001) == []


def test_j10_a_subscriber_gets_each_case_once() -> None:
    """Another attempt begins again; a submission that waits again shows nothing."""
    listener = Subscriber(Topic(work=SubmissionId("sub_x")), None)
    cases = tuple(CaseSoFar(number, Verdict.ACCEPTED, 1, 1) for number in (1, 2, 3))
    listener.is_running = True
    taken = []
    for count in (2, 3, 1):
        listener.show_progress(JudgingProgress(count, 3, cases[:count]))
        progress = listener.take_progress()
        assert progress is not None
        taken.append([each.number for each in progress.cases])
    assert taken == [[1, 2], [3], [1]]
    assert listener.take_progress() is None
    listener.is_running = False
    listener.show_progress(JudgingProgress(2, 3, cases[:2]))
    assert listener.take_progress() is None


async def test_a_client_that_does_not_read_is_disconnected_and_can_resume(
    ada: Api, pool: Pool, feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H1: memory stays bounded; with its last id the client gets the rest."""
    monkeypatch.setattr(feed_module, "BATCH", 2_000)
    submission = await make_submission(pool, ada.user.id)
    url = ada.client.base_url
    with socket.socket() as deaf, monkeypatch.context() as impatient:
        impatient.setattr(stream, "SEND_TIMEOUT_S", 0.2)
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(deaf, (url.host, url.port))
        head = f"GET /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ada.user.token}"
        await loop.sock_sendall(deaf, f"{head}\r\n\r\n".encode())
        await until(lambda: len(feed.subscriptions) == 1)
        (listener,) = feed.subscriptions
        async with connection(pool) as acquired:
            await acquired.execute(
                """INSERT INTO work_event (work_id, event, state, attempt)
                   SELECT $1, 'resend', 'QUEUED', 0 FROM generate_series(1, $2)""",
                submission,
                MANY,
            )
        await until(lambda: len(feed.subscriptions) == 0)
        assert listener.is_closed or len(listener._pending) <= subscriptions.MAX_PENDING
        got = (await loop.sock_recv(deaf, 4096)).decode()
    await feed.catch_up()
    last = got.partition("\nid: ")[2].partition("\n")[0]
    seen = set[str | None]()
    async with open_stream(ada, "/v1/events", last) as stream_client:
        while len(seen) < MANY:
            block = await stream_client.event()
            if block.content["state"] == "queued":
                assert block.id not in seen
                seen.add(block.id)


async def test_a_client_that_disconnects_is_unsubscribed(ada: Api, feed: Feed) -> None:
    for _ in range(3):
        async with open_stream(ada, "/v1/events") as stream_client:
            assert await stream_client.block()
            assert len(feed.subscriptions) == 1
            (metric,) = STREAMS.collect()
            assert metric.samples[0].value == 1
        await until(lambda: len(feed.subscriptions) == 0)


async def test_a_draining_feed_ends_its_streams_and_accepts_no_more(
    ada: Api, pool: Pool, feed: Feed
) -> None:
    submission = await make_submission(pool, ada.user.id)
    await until_settled(pool)
    await feed.catch_up()
    path = f"/v1/submissions/{submission}/events"
    async with open_stream(ada, "/v1/events") as stream_client, open_stream(ada, path) as other:
        assert await stream_client.block()
        await other.event()
        feed.drain()
        assert (await stream_client.rest(), await other.rest()) == ([], [])
    async with open_stream(ada, "/v1/events") as stream_client:
        assert await stream_client.rest() == []


async def test_a_replaced_database_restarts_the_feed(ada: Api, pool: Pool, feed: Feed) -> None:
    """A restored database has other transaction numbers."""
    async with open_stream(ada, "/v1/events") as stream_client:
        assert await stream_client.block()
        async with feed._reading:
            feed._snapshot = stored.Snapshot(f"{BEYOND}:{BEYOND}:")
            feed._cursor = EventCursor(BEYOND, 1)
        assert await stream_client.rest() == [], "its client comes back, with its mark"
    async with open_stream(ada, "/v1/events", f"{BEYOND}-0") as stream_client:
        submission = await make_submission(pool, ada.user.id)
        assert (await stream_client.event()).content["submission_id"] == submission


async def test_concurrent_callers_share_a_read(
    pool: Pool, feed: Feed, client: httpx.AsyncClient
) -> None:
    touched: list[ChangedWork] = []
    feed.on_event(touched.append)
    await feed.catch_up()
    submission = await make_submission(pool)
    before = feed._reads
    await asyncio.gather(*(feed.catch_up() for _ in range(50)))
    assert feed._reads - before <= 3
    assert [each.work for each in touched] == [submission]


@pytest.mark.parametrize(("failing", "callers", "succeed"), [(1, 2, 1), (1, 9, 8), (2, 9, 0)])
async def test_callers_that_shared_a_failed_read_share_another_one(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, failing: int, callers: int, succeed: int
) -> None:
    """No caller answers without a read; in an outage they don't wait for one timeout each."""
    read, reads = stored.changed_since, 0

    async def changed_since(*arguments: Any) -> Any:
        nonlocal reads
        reads += 1
        if reads <= failing:
            raise DatabaseDown("gone")
        return await read(*arguments)

    feed, touched = Feed(pool), list[ChangedWork]()
    await feed.start()
    feed.on_event(touched.append)
    submission = await make_submission(pool)
    monkeypatch.setattr(stored, "changed_since", changed_since)
    async with feed._reading:
        asking = [asyncio.create_task(feed.catch_up()) for _ in range(callers)]
        await asyncio.sleep(0)
    answers = await asyncio.gather(*asking, return_exceptions=True)
    assert answers.count(None) == succeed
    assert all(each is None or isinstance(each, DatabaseDown) for each in answers)
    assert [each.work for each in touched] == [submission][:succeed]
    assert reads == 2
    await feed.catch_up()
    assert [each.work for each in touched] == [submission]


async def test_a_read_that_was_cancelled_is_not_a_failed_one(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its client went away, which says nothing about the database."""
    read, begun = stored.changed_since, asyncio.Event()

    async def never(*_: Any) -> Any:
        begun.set()
        await asyncio.Event().wait()

    feed, touched = Feed(pool), list[ChangedWork]()
    await feed.start()
    feed.on_event(touched.append)
    submission = await make_submission(pool)
    async with feed._reading:
        asking = [asyncio.create_task(feed.catch_up()) for _ in range(4)]
        await asyncio.sleep(0)
        monkeypatch.setattr(stored, "changed_since", never)
    for each in asking[:3]:
        await begun.wait()
        begun.clear()
        if each is asking[2]:
            monkeypatch.setattr(stored, "changed_since", read)
        each.cancel()
    await asking[3]
    assert [each.work for each in touched] == [submission]


async def test_a_stream_ends_after_its_seconds(ada: Api, pool: Pool) -> None:
    """H1: for clients behind a proxy that cuts long connections."""
    submission = await make_submission(pool, ada.user.id)
    for path in (f"/v1/submissions/{submission}/events", "/v1/events"):
        answer = await ada.get(path, params={"seconds": "0.05"})
        assert answer.status_code == 200
        assert answer.text.startswith("retry: ")
    assert (
        "event: submission.queued"
        in (await ada.get(f"/v1/submissions/{submission}/events", params={"seconds": 0})).text
    )
    assert (await ada.get("/v1/events", params={"seconds": -1})).status_code == 422


async def test_d2_streams_per_user_are_limited(ada: Api, bob: Api, feed: Feed) -> None:
    feed.streams[ada.user.id] = 99
    async with open_stream(ada, "/v1/events"):
        await until(lambda: feed.streams[ada.user.id] == 100)
        refused = await ada.get("/v1/events")
        assert refused.status_code == 429
        assert "retry-after" in refused.headers
        assert (await bob.get("/v1/events", params={"seconds": 0})).status_code == 200
    await until(lambda: feed.streams[ada.user.id] == 99)
    assert (await ada.get("/v1/events", params={"seconds": 0})).status_code == 200


async def until_settled(pool: Pool) -> None:
    """Open transactions of other databases delay events."""
    async with connection(pool) as acquired:
        last = await acquired.fetchval("SELECT max(xact::text::bigint) FROM work_event")

        async def is_settled() -> bool:
            return bool((await stored.current_snapshot(acquired)).xmin > last)

        await until(is_settled)


@pytest.mark.parametrize("seconds", [None, 0.0])
async def test_the_time_limit_includes_past_events(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, seconds: float | None
) -> None:
    """O6: a client that reads past events slowly may lose access, or reach its time limit."""
    monkeypatch.setattr(replay, "BATCH", 2)
    monkeypatch.setattr(stream, "HEARTBEAT_S", 0.0)
    account = await make_account(pool)
    for _ in range(6):
        await make_submission(pool, account)
    await until_settled(pool)
    result: list[bytes] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        result.append(message["body"])

    async def is_welcome() -> bool:
        return seconds is not None or b"".join(result).count(b"event:") < 4

    feed = Feed(pool)
    with feed.subscribe(Topic(account=account)) as listener:
        telling = StreamWriter(feed, listener, EventCursor(0, 0), is_welcome, send, seconds)
        assert await telling.run()
    pages = 2 if seconds is None else 1
    assert b"".join(result).count(b"event:") == 2 * pages


@pytest.mark.parametrize("is_known", [True, False])
async def test_a_missing_table_does_not_end_the_streams(
    ada: Api, pool: Pool, feed: Feed, monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    """As during a restore: the process and its streams go on after any error."""
    read, has_failed = stored.running_progress, asyncio.Event()

    async def running_progress(*arguments: Any) -> Any:
        try:
            return await read(*arguments)
        except asyncpg.UndefinedTableError as fault:
            has_failed.set()
            raise fault if is_known else RuntimeError from fault

    monkeypatch.setattr(stored, "running_progress", running_progress)
    monkeypatch.setattr(feed_module, "PROGRESS_S", 0.02)
    submission = await make_submission(pool, ada.user.id)
    await start_submission(pool, submission)
    async with open_stream(ada, f"/v1/submissions/{submission}/events") as stream_client:
        for _ in range(3):
            await stream_client.event()
        async with connection(pool) as acquired:
            await acquired.execute("ALTER TABLE lease RENAME TO away")
            await until(has_failed.is_set)
            await acquired.execute("ALTER TABLE away RENAME TO lease")
            await acquired.execute("UPDATE lease SET cases_done = 1, cases_total = 3")
        assert (await stream_client.event()).data == '{"case":1,"of":3}'


async def test_after_an_outage_all_subscribed_submissions_are_read_again(
    ada: Api, pool: Pool, feed: Feed, log_lines: Sequence[MutableMapping[str, Any]]
) -> None:
    """A server that crashed may reuse a transaction number."""
    submission = await make_submission(pool, ada.user.id)
    async with open_stream(ada, f"/v1/submissions/{submission}/events") as stream_client:
        assert (await stream_client.event()).content["state"] == "pending"
        async with connection(pool) as acquired:
            async with feed._reading:
                await queue_submission(pool, submission)
                feed._snapshot = await stored.current_snapshot(acquired)
            await acquired.execute("ALTER TABLE work_event RENAME TO away")
            await until(lambda: "events.interrupted" in [each["event"] for each in log_lines])
            await acquired.execute("ALTER TABLE away RENAME TO work_event")
        assert (await stream_client.event()).content["state"] == "queued"
        await cancel(pool, submission)
        assert [each.content["state"] for each in await stream_client.rest()] == ["cancelled"]
