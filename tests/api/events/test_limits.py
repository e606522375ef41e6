"""What a client or the database does to a stream: too slow, gone, away, back."""

import asyncio
import socket
from collections.abc import MutableMapping, Sequence
from typing import Any

import asyncpg
import httpx
import pytest

from deemster.api.feed import feed as feed_module
from deemster.api.feed import replay, stream
from deemster.api.feed import subscriber as listener_module
from deemster.api.feed.feed import Feed
from deemster.api.feed.message import EventMessage
from deemster.api.feed.stream import StreamWriter
from deemster.api.feed.subscriber import Subscriber, Topic
from deemster.metrics import STREAMS
from deemster.pipeline.verdict.cancel import cancel
from deemster.store import events as stored
from deemster.store.events import ChangedSubmission, EventCursor
from deemster.store.pool import Pool, connection
from tests.api.conftest import Api
from tests.api.events.event_client import listening
from tests.builders import make_account, make_submission, queue_submission, start_submission
from tests.waiting import until

MANY = 40_000
"""Events: more than any socket's buffers take."""
BEYOND = 2**61 + 1_000
"""A transaction that no server here has reached."""


async def test_a_listener_keeps_no_more_than_it_may(pool: Pool) -> None:
    submission = await make_submission(pool)
    async with connection(pool) as acquired:
        (event,) = await stored.list_of_submissions(acquired, [submission])
    listener = Subscriber(Topic(submission=submission), None, most=3)
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


async def test_a_client_that_does_not_read_is_left_and_misses_nothing(
    ada: Api, pool: Pool, feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H1: memory stays bounded; with its last id it gets all the rest."""
    monkeypatch.setattr(stream, "STUCK_S", 0.2)
    monkeypatch.setattr(feed_module, "AT_ONCE", 2_000)
    submission = await make_submission(pool, ada.user.id)
    url = ada.client.base_url
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(deaf, (url.host, url.port))
        head = f"GET /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ada.user.token}"
        await loop.sock_sendall(deaf, f"{head}\r\n\r\n".encode())
        await until(lambda: len(feed.audience) == 1)
        (listener,) = feed.audience
        async with connection(pool) as acquired:
            await acquired.execute(
                """INSERT INTO submission_event (submission_id, event, state, attempt)
                   SELECT $1, 'resend', 'QUEUED', 0 FROM generate_series(1, $2)""",
                submission,
                MANY,
            )
        await until(lambda: len(feed.audience) == 0)
        assert listener.is_closed or len(listener._kept) <= listener_module.MOST_KEPT
        got = (await loop.sock_recv(deaf, 4096)).decode()
    last = got.partition("\nid: ")[2].partition("\n")[0]
    seen = set[str | None]()
    async with listening(ada, "/v1/events", last) as ear:
        while len(seen) < MANY:
            block = await ear.event()
            if block.content["state"] == "queued":
                assert block.id not in seen
                seen.add(block.id)


async def test_who_leaves_is_forgotten(ada: Api, feed: Feed) -> None:
    for _ in range(3):
        async with listening(ada, "/v1/events") as ear:
            assert await ear.block()
            assert len(feed.audience) == 1
            (metric,) = STREAMS.collect()
            assert metric.samples[0].value == 1
        await until(lambda: len(feed.audience) == 0)


async def test_a_feed_that_drains_ends_its_streams_and_takes_no_more(
    ada: Api, pool: Pool, feed: Feed
) -> None:
    submission = await make_submission(pool, ada.user.id)
    await until_settled(pool)
    await feed.catch_up()
    path = f"/v1/submissions/{submission}/events"
    async with listening(ada, "/v1/events") as ear, listening(ada, path) as other:
        assert await ear.block()
        await other.event()
        feed.drain()
        assert (await ear.rest(), await other.rest()) == ([], [])
    async with listening(ada, "/v1/events") as ear:
        assert await ear.rest() == []


async def test_a_new_database_under_the_old_address_begins_anew(
    ada: Api, pool: Pool, feed: Feed
) -> None:
    """A restored one counts its transactions from another number."""
    async with listening(ada, "/v1/events") as ear:
        assert await ear.block()
        async with feed._looking:
            feed._seen = stored.Snapshot(f"{BEYOND}:{BEYOND}:")
            feed._mark = EventCursor(BEYOND, 1)
        assert await ear.rest() == [], "its client comes back, with its mark"
    async with listening(ada, "/v1/events", f"{BEYOND}-0") as ear:
        submission = await make_submission(pool, ada.user.id)
        assert (await ear.event()).content["submission_id"] == submission


async def test_many_who_ask_at_once_share_a_look(
    pool: Pool, feed: Feed, client: httpx.AsyncClient
) -> None:
    touched: list[ChangedSubmission] = []
    feed.on_event(touched.append)
    await feed.catch_up()
    submission = await make_submission(pool)
    before = feed._looks
    await asyncio.gather(*(feed.catch_up() for _ in range(50)))
    assert feed._looks - before <= 3
    assert [each.submission for each in touched] == [submission]


async def test_a_stream_ends_when_its_time_is_over(ada: Api, pool: Pool) -> None:
    """H1: for those behind a proxy that cuts what lasts too long."""
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


async def test_d2_one_user_has_no_more_than_so_many_streams(
    ada: Api, bob: Api, feed: Feed
) -> None:
    feed.streams[ada.user.id] = 99
    async with listening(ada, "/v1/events"):
        await until(lambda: feed.streams[ada.user.id] == 100)
        refused = await ada.get("/v1/events")
        assert refused.status_code == 429
        assert "retry-after" in refused.headers
        assert (await bob.get("/v1/events", params={"seconds": 0})).status_code == 200
    await until(lambda: feed.streams[ada.user.id] == 99)
    assert (await ada.get("/v1/events", params={"seconds": 0})).status_code == 200


async def until_settled(pool: Pool) -> None:
    """Others use this server too: until theirs have ended, what is past is not all told."""
    async with connection(pool) as acquired:
        last = await acquired.fetchval("SELECT max(xact::text::bigint) FROM submission_event")

        async def is_settled() -> bool:
            return bool((await stored.current_snapshot(acquired)).xmin > last)

        await until(is_settled)


@pytest.mark.parametrize("seconds", [None, 0.0])
async def test_what_is_past_is_told_no_longer_than_what_is_to_come(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, seconds: float | None
) -> None:
    """O6: who reads a long past slowly may lose the right to it, or their time is over."""
    monkeypatch.setattr(replay, "AT_ONCE", 2)
    monkeypatch.setattr(stream, "HEARTBEAT_S", 0.0)
    account = await make_account(pool)
    for _ in range(6):
        await make_submission(pool, account)
    await until_settled(pool)
    told: list[bytes] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        told.append(message["body"])

    async def is_welcome() -> bool:
        return seconds is not None or b"".join(told).count(b"event:") < 4

    feed = Feed(pool)
    with feed.listening(Topic(account=account)) as listener:
        telling = StreamWriter(feed, listener, EventCursor(0, 0), is_welcome, send, seconds)
        assert await telling.run()
    pages = 2 if seconds is None else 1
    assert b"".join(told).count(b"event:") == 2 * pages


@pytest.mark.parametrize("is_known", [True, False])
async def test_a_table_that_is_away_for_a_moment_ends_nothing(
    ada: Api, pool: Pool, feed: Feed, monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    """As while a backup is read in: the process and its streams go on, whatever was raised."""
    look, has_failed = stored.running_progress, asyncio.Event()

    async def running_progress(*arguments: Any) -> Any:
        try:
            return await look(*arguments)
        except asyncpg.UndefinedTableError as fault:
            has_failed.set()
            raise fault if is_known else RuntimeError from fault

    monkeypatch.setattr(stored, "running_progress", running_progress)
    monkeypatch.setattr(feed_module, "PROGRESS_S", 0.02)
    submission = await make_submission(pool, ada.user.id)
    await start_submission(pool, submission)
    async with listening(ada, f"/v1/submissions/{submission}/events") as ear:
        for _ in range(3):
            await ear.event()
        async with connection(pool) as acquired:
            await acquired.execute("ALTER TABLE lease RENAME TO away")
            await until(has_failed.is_set)
            await acquired.execute("ALTER TABLE away RENAME TO lease")
            await acquired.execute("UPDATE lease SET cases_done = 1, cases_total = 3")
        assert (await ear.event()).data == '{"case":1,"of":3}'


async def test_after_an_outage_all_that_is_listened_to_is_read_again(
    ada: Api, pool: Pool, feed: Feed, log_lines: Sequence[MutableMapping[str, Any]]
) -> None:
    """A server that crashed gives a number that was seen to another transaction."""
    submission = await make_submission(pool, ada.user.id)
    async with listening(ada, f"/v1/submissions/{submission}/events") as ear:
        assert (await ear.event()).content["state"] == "pending"
        async with connection(pool) as acquired:
            async with feed._looking:
                await queue_submission(pool, submission)
                feed._seen = await stored.current_snapshot(acquired)
            await acquired.execute("ALTER TABLE submission_event RENAME TO away")
            await until(lambda: "events.interrupted" in [each["event"] for each in log_lines])
            await acquired.execute("ALTER TABLE away RENAME TO submission_event")
        assert (await ear.event()).content["state"] == "queued"
        await cancel(pool, submission)
        assert [each.content["state"] for each in await ear.rest()] == ["cancelled"]
