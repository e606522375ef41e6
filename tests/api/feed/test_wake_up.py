"""The feed is woken by NOTIFY; here polling is so slow that it would tell nobody in time."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

import pytest

from deemster.api.app import create_app
from deemster.api.feed import feed as feed_module
from deemster.api.feed.feed import Feed
from deemster.api.feed.subscriptions import Subscriber, Topic
from deemster.domain.ids import SubmissionId
from deemster.domain.lifecycle import State
from deemster.pipeline.verdict.cancel import cancel
from deemster.store import events
from deemster.store.events import ChangedWork, Snapshot
from deemster.store.notifications import EVENT_CHANNEL, Listener, Notifier
from deemster.store.pool import Connection, Pool, connection
from tests.api.conftest import Api, MakeDependencies, make_user, running
from tests.builders import make_account, make_submission, queue_submission
from tests.waiting import until

HOUR_S = 3600.0
TIMEOUT_S = 60.0
LONGEST_WAIT_S = 300


@pytest.fixture(autouse=True)
def no_polling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, "BUSY_S", HOUR_S)
    monkeypatch.setattr(feed_module, "IDLE_S", HOUR_S)


@asynccontextmanager
async def running_feed(pool: Pool, database_url: str) -> AsyncIterator[Feed]:
    async with Listener.open(database_url, EVENT_CHANNEL) as listener:
        feed = Feed(pool, listener.wait)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(feed.run())
            await feed.start()
            yield feed
            task.cancel()


async def next_states(feed: Feed, topic: Topic, submission: SubmissionId) -> list[State]:
    """Cancels the submission, and returns the states that a subscriber is told until then."""
    with feed.subscribe(topic) as subscriber:
        await cancel(feed.pool, submission)
        return await states_until(subscriber, State.CANCELLED)


async def states_until(subscriber: Subscriber, last: State) -> list[State]:
    """Returns what the subscriber is told; earlier states may come in messages of their own."""
    states: list[State] = []
    async with asyncio.timeout(TIMEOUT_S):
        while last not in states:
            states += [each.event.state for each in await subscriber.wait(TIMEOUT_S)]
    return states


async def test_h1_a_cancelled_submission_is_told_without_polling(
    pool: Pool, database_url: str
) -> None:
    """H1: the subscriber of one submission."""
    async with running_feed(pool, database_url) as feed:
        submission = await make_submission(pool)
        states = await next_states(feed, Topic(work=submission), submission)
    assert states[-1] is State.CANCELLED


@pytest.mark.parametrize(
    "notify", [Notifier.notify, Notifier.notify_soon, Notifier.notify_later]
)
async def test_a_notifier_wakes_the_feed_after_commits_of_other_processes(
    pool: Pool, database_url: str, notify: Callable[[Notifier], None]
) -> None:
    async with (
        running_feed(pool, database_url) as feed,
        Notifier.open(pool, EVENT_CHANNEL) as notifier,
    ):
        submission = await make_submission(pool)
        with feed.subscribe(Topic(work=submission)) as subscriber:
            await queue_submission(pool, submission)
            notify(notifier)
            states = await states_until(subscriber, State.QUEUED)
    assert states[-1] is State.QUEUED


async def test_h1_a_wait_ends_when_a_notice_names_its_submission(
    pool: Pool, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H1: the wait needs no events; here none are found."""

    async def is_settled() -> bool:
        return False

    async def find_nothing(_: object, seen: Snapshot) -> tuple[Snapshot, list[ChangedWork]]:
        return seen, []

    told: list[str] = []
    async with (
        running_feed(pool, database_url) as feed,
        Notifier.open(pool, EVENT_CHANNEL) as notifier,
        asyncio.TaskGroup() as group,
    ):
        monkeypatch.setattr(events, "changed_since", find_nothing)
        feed.on_settled(told.append)
        submissions = [await make_submission(pool) for _ in range(2)]
        waits = [
            group.create_task(feed.wait_until_settled(each, HOUR_S, is_settled))
            for each in submissions
        ]
        await until(lambda: len(feed.settled) == 2)
        notifier.notify_settled(submissions[0])
        await until(waits[0].done)
        assert (told, waits[1].done()) == (submissions[:1], False)
        waits[1].cancel()


async def test_e6_a_wait_for_an_execution_ends_when_its_session_is_deleted(
    make_dependencies: MakeDependencies,
    pool: Pool,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """E6, H1: the event that would tell it is deleted in the same transaction."""
    monkeypatch.setattr("deemster.api.executions.LONGEST_LOOK_S", LONGEST_WAIT_S)
    async with Listener.open(database_url, EVENT_CHANNEL) as listener:
        given = make_dependencies(longest_wait_s=LONGEST_WAIT_S)
        app = create_app(replace(given, wait_for_events=listener.wait))
        feed: Feed = app.state.app_state.feed
        async with running(app) as client, asyncio.TaskGroup() as group:
            ada = Api(client, await make_user(pool, "ada"))
            made = await ada.post("/v1/code-sessions", {"language": "python3"})
            session = made.headers["location"]
            runs = [await ada.post(f"{session}/run", {}) for _ in range(3)]
            asking = [
                group.create_task(ada.get(f"{each.headers['location']}?wait={LONGEST_WAIT_S}"))
                for each in runs
            ]
            await until(lambda: count_waiting(feed) == 3)
            assert (await ada.delete(session)).status_code == 204
            await until(lambda: all(each.done() for each in asking), patience_s=TIMEOUT_S)
            assert [each.result().status_code for each in asking] == [404] * 3


def count_waiting(feed: Feed) -> int:
    """Requests that have looked at their submission or execution, and now wait for its end."""
    events_of_requests = [each for some in feed.settled._events.values() for each in some]
    return sum(bool(each._waiters) for each in events_of_requests)


async def test_an_ordered_subscriber_is_told_soon_after_the_earlier_transaction_has_ended(
    pool: Pool, database_url: str
) -> None:
    """H1: the event waits for a transaction whose end sends no notice."""
    account = await make_account(pool)
    async with running_feed(pool, database_url) as feed:
        submission = await make_submission(pool, account)
        with feed.subscribe(Topic(account=account)) as subscriber:
            async with connection(pool) as earlier, earlier.transaction():
                await earlier.execute("SELECT pg_current_xact_id()")
                await cancel(pool, submission)
                await feed.catch_up()
                told = [each.event.state for each in await subscriber.wait(0)]
                assert State.CANCELLED not in told
            async with asyncio.timeout(TIMEOUT_S):
                while State.CANCELLED not in told:
                    told += [each.event.state for each in await subscriber.wait()]


async def test_many_notices_that_nobody_waits_for_cause_few_reads(
    pool: Pool, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a notice names is told all the same."""
    monkeypatch.setattr(feed_module, "GATHER_UNAWAITED_S", HOUR_S)
    reads = 0
    changed_since = events.changed_since

    async def count(acquired: Connection, seen: Snapshot) -> tuple[Snapshot, list[ChangedWork]]:
        nonlocal reads
        reads += 1
        return await changed_since(acquired, seen)

    told: list[str] = []
    async with (
        running_feed(pool, database_url) as feed,
        Notifier.open(pool, EVENT_CHANNEL) as notifier,
    ):
        feed.on_settled(told.append)
        monkeypatch.setattr(events, "changed_since", count)
        submissions = [await make_submission(pool) for _ in range(5)]
        for submission in submissions:
            notifier.notify_settled(submission)
            await until(partial(told.__contains__, submission), patience_s=TIMEOUT_S)
        assert reads <= 1, "the first one may have been due already"
        with feed.subscribe(Topic(work=submissions[0])) as subscriber:
            await queue_submission(pool, submissions[0])
            notifier.notify()
            assert await states_until(subscriber, State.QUEUED)
