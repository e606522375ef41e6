"""Q8: the order of jobs, from the ranks in the database to what a worker gets."""

import hashlib
import secrets
from collections.abc import Sequence

from deemster.domain.ids import SUBMISSION, SubmissionId, new_id
from deemster.domain.job import PriorityClass
from deemster.domain.submission import NewSubmission
from deemster.pipeline.outbox.relay import Relay
from deemster.pipeline.queue.producer import Producer
from deemster.store.pool import Pool, connection
from deemster.store.submission_inserts import SubmissionInsert, insert_all
from tests.builders import make_account, make_problem
from tests.pipeline.queue.stores import Seen, working
from tests.waiting import until

MANY = 1000
AT_ONCE = 250


async def submit(
    pool: Pool,
    user: str,
    priority_class: PriorityClass = PriorityClass.PRACTICE,
    *,
    tier: int = 0,
    times: int = 1,
) -> list[SubmissionId]:
    summary, account = await make_problem(pool), await make_account(pool, user)
    news = [
        NewSubmission(
            id=SubmissionId(new_id(SUBMISSION)),
            account=account,
            problem=summary.id,
            revision=summary.digest,
            language="c",
            main=None,
            source=hashlib.sha256(b"").hexdigest(),
            request_digest=secrets.token_bytes(32),
            priority_class=priority_class,
            tier=tier,
        )
        for _ in range(times)
    ]
    for start in range(0, times, AT_ONCE):
        batch = [SubmissionInsert(new) for new in news[start : start + AT_ONCE]]
        async with connection(pool) as acquired:
            answers = await insert_all(acquired, batch)
        assert not [each for each in answers if isinstance(each, Exception)]
    return [new.id for new in news]


async def relay_all(pool: Pool, queue_url: str, queue_env: str) -> None:
    async with Producer.open(queue_url, queue_env) as producer:
        relay = Relay(pool, producer)
        while await relay.send_batch():
            pass


def submissions_of(jobs: Sequence[str]) -> list[str]:
    return [job.partition("-")[0] for job in jobs]


async def test_a_user_with_a_thousand_waiting_submissions_delays_nobody(
    pool: Pool, queue_url: str, queue_env: str
) -> None:
    """While one of the thousand runs, another user's first submission is next."""
    theirs = await submit(pool, "ada", times=MANY)
    await relay_all(pool, queue_url, queue_env)
    seen = Seen(held=True)
    async with working(queue_url, queue_env, seen):
        await until(lambda: len(seen.ids) == 1)
        (mine,) = await submit(pool, "bob")
        await relay_all(pool, queue_url, queue_env)
        seen.gate.set()
        await until(lambda: len(seen.ids) > 2)
    first, second, third = submissions_of(seen.ids)[:3]
    assert second == mine
    assert {first, third} < set(theirs)


async def test_priority_classes_go_in_order_and_a_tier_raises_practice_only(
    pool: Pool, queue_url: str, queue_env: str
) -> None:
    """Contest, interactive, practice, rejudge, sent in the opposite order."""
    asked = [
        ("ada", PriorityClass.REJUDGE, 1),
        ("bob", PriorityClass.REJUDGE, 0),
        ("cid", PriorityClass.PRACTICE, 0),
        ("dan", PriorityClass.PRACTICE, 1),
        ("eve", PriorityClass.INTERACTIVE, 0),
        ("fay", PriorityClass.CONTEST, 0),
        ("gus", PriorityClass.CONTEST, 1),
    ]
    given = [
        (await submit(pool, user, priority_class, tier=tier))[0]
        for user, priority_class, tier in asked
    ]
    await relay_all(pool, queue_url, queue_env)
    seen = Seen()
    async with working(queue_url, queue_env, seen):
        await until(lambda: len(seen.ids) == len(asked))
    order = [asked[given.index(SubmissionId(each))][0] for each in submissions_of(seen.ids)]
    assert order == ["fay", "gus", "dan", "eve", "cid", "ada", "bob"]
