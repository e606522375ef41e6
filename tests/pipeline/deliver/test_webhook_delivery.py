"""H2, I3: every webhook is sent at least once, whatever the receiver does."""

import hashlib
import hmac
import json
from collections.abc import Sequence

import pytest
from standardwebhooks import Webhook
from structlog.typing import EventDict

from deemster import __version__
from deemster.domain.errors import LostRace
from deemster.metrics import WEBHOOKS
from deemster.pipeline.deliver import webhook_delivery
from deemster.pipeline.deliver.sender import DeliveryFault
from deemster.pipeline.deliver.webhook_delivery import (
    MAX_CONCURRENT,
    PER_ACCOUNT,
    PER_HOST,
    RetryPolicy,
)
from deemster.pipeline.verdict.attempt import settle
from deemster.store import webhooks
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool, connection
from deemster.store.webhooks import ClaimedDelivery, DeliveryState
from tests.builders import (
    judged,
    make_account,
    make_submission,
    queue_submission,
    start_submission,
)
from tests.pipeline.deliver.conftest import (
    KEYS,
    End,
    deliveries,
    delivering,
    ended,
    only,
    until_ended,
)
from tests.pipeline.deliver.receiver import OK, Request, receiving, silence, status
from tests.waiting import until

BOUNDS = {"per_host": PER_HOST, "per_account": PER_ACCOUNT}


def verified(request: Request, secret: str) -> object:
    """Verifies a request by the library that receivers use; raises if it is wrong."""
    return Webhook(secret).verify(request.body, dict(request.headers))


async def test_a_finished_submission_sends_a_signed_webhook(pool: Pool, end: End) -> None:
    """H2."""
    async with receiving() as receiver, delivering(pool):
        submission = await end(receiver.url)
        delivery = await ended(pool, submission)
    assert delivery.state is DeliveryState.DELIVERED
    assert [(each.number, each.status, each.error) for each in delivery.attempts] == [
        (1, 200, None)
    ]
    (request,) = receiver.got
    account = await make_account(pool)
    assert verified(request, KEYS.formatted(account, 1)) == json.loads(request.body)
    own = hmac.new(KEYS.key_of(account, 1), request.body, hashlib.sha256).hexdigest()
    assert request.headers["x-judge-signature"] == f"sha256={own}"
    assert request.headers["webhook-id"] == delivery.id
    assert request.headers["user-agent"] == f"deemster/{__version__}"
    told = json.loads(request.body)
    assert told["type"] == "submission.finished"
    assert told["timestamp"] == told["data"]["finished_at"]
    assert told["data"] | {"id": submission, "verdict": "Accepted"} == told["data"]


async def test_a_webhook_that_failed_twice_is_sent_a_third_time(pool: Pool, end: End) -> None:
    """H2: with the same id and the same bytes."""
    answers = (status(500), status(404), OK)
    async with receiving(*answers) as receiver, delivering(pool):
        delivery = await ended(pool, await end(receiver.url))
    assert delivery.state is DeliveryState.DELIVERED
    assert [(each.status, each.error) for each in delivery.attempts] == [
        (500, DeliveryFault.STATUS),
        (404, DeliveryFault.STATUS),
        (200, None),
    ]
    assert receiver.ids == [delivery.id] * 3
    assert len({request.body for request in receiver.got}) == 1


async def test_a_receiver_that_never_answers_is_given_up(pool: Pool, end: End) -> None:
    """H2: three attempts in all."""
    before = WEBHOOKS.labels("failed")._value.get()
    async with receiving(silence) as receiver, delivering(pool, timeout_s=0.2):
        delivery = await ended(pool, await end(receiver.url))
    assert delivery.state is DeliveryState.FAILED
    assert [each.error for each in delivery.attempts] == [DeliveryFault.TIMEOUT] * 3
    assert [each.status for each in delivery.attempts] == [None] * 3
    assert len(receiver.got) == 3
    assert WEBHOOKS.labels("failed")._value.get() == before + 1


async def test_the_backoff_doubles() -> None:
    rules = RetryPolicy(attempts=9, backoff_s=5, timeout_s=1)
    for number, least in enumerate([5, 10, 20, 40], start=1):
        assert least <= rules.wait_s(number) <= 1.1 * least
    assert len({rules.wait_s(1) for _ in range(20)}) > 1, "jitter"


async def test_a_failed_delivery_waits_before_the_next_attempt(pool: Pool, end: End) -> None:
    async with receiving(status(500)) as receiver, delivering(pool, backoff_s=3600):
        submission = await end(receiver.url)

        async def was_tried() -> bool:
            return bool((await only(pool, submission)).attempts)

        await until(was_tried)
        delivery = await only(pool, submission)
    assert delivery.state is DeliveryState.WAITING
    assert delivery.next_at is not None
    waits_s = (delivery.next_at - delivery.attempts[0].at).total_seconds()
    assert waits_s >= 3600
    assert len(receiver.got) == 1


async def test_redirects_are_refused(pool: Pool, end: End) -> None:
    """H3."""
    async with receiving() as private:
        answer = status(307, f"Location: {private.url}")
        async with receiving(answer) as receiver, delivering(pool, attempts=1):
            delivery = await ended(pool, await end(receiver.url))
    assert delivery.state is DeliveryState.FAILED
    assert (delivery.attempts[0].status, delivery.attempts[0].error) == (
        307,
        DeliveryFault.REDIRECT,
    )
    assert not private.connections


async def test_settling_repeatedly_sends_one_webhook(pool: Pool, artifacts: Artifacts) -> None:
    """I3."""
    async with receiving() as receiver, delivering(pool):
        submission = await make_submission(pool, webhook_url=receiver.url)
        await queue_submission(pool, submission)
        running = await start_submission(pool, submission)
        await settle(pool, artifacts, running, judged())
        for _ in range(3):
            with pytest.raises(LostRace):
                await settle(pool, artifacts, running, judged())
        await until_ended(pool, submission)
    assert len(receiver.got) == 1


async def test_several_keepers_send_each_webhook_once(pool: Pool, end: End) -> None:
    """H2."""
    async with receiving() as one, receiving() as other:
        wanted = [await end((one, other)[number % 2].url) for number in range(40)]
        async with delivering(pool, keepers=3):
            await until_ended(pool)
    found = await deliveries(pool)
    assert sorted(one.ids + other.ids) == sorted(each.id for each in found)
    assert len(found) == len(wanted) == 40
    assert {each.tries for each in found} == {1}


async def test_a_dead_receiver_does_not_delay_others(pool: Pool, end: End) -> None:
    async with receiving(silence) as dead, receiving() as well:
        for _ in range(MAX_CONCURRENT + 10):
            await end(dead.url)
        async with delivering(pool, timeout_s=60):
            await until(lambda: len(dead.got) == PER_HOST)
            last = await end(well.url)
            assert (await ended(pool, last)).state is DeliveryState.DELIVERED
            waiting = [each for each in await deliveries(pool) if each.url == dead.url]
            assert {each.tries for each in waiting} == {0}, "none of them has timed out yet"
    assert dead.most_open == PER_HOST


async def test_an_account_with_many_receivers_does_not_go_first(pool: Pool, end: End) -> None:
    busy, calm = await make_account(pool, "busy"), await make_account(pool, "calm")
    for number in range(10):
        await end(f"https://{number}.example/", busy)
    mine = await end("https://calm.example/", calm)
    async with connection(pool) as acquired:
        first = await webhooks.claim(acquired, limit=2, claim_s=60, **BOUNDS)
    assert mine in {each.subject.id for each in first}


async def test_an_account_with_many_receivers_never_takes_all_capacity(
    pool: Pool, end: End
) -> None:
    """Receivers that never answer: running deliveries count as well."""
    busy = await make_account(pool, "busy")
    for number in range(6):
        await end(f"https://{number}.example/", busy)
    mine = await end("https://calm.example/", await make_account(pool, "calm"))
    bounds = {"per_host": 4, "per_account": 3, "claim_s": 60}
    async with connection(pool) as acquired:
        first = await webhooks.claim(acquired, limit=2, **bounds)
        more = await webhooks.claim(acquired, limit=50, **bounds)
        assert await webhooks.claim(acquired, limit=50, **bounds) == []
    taken = [each.subject.account for each in [*first, *more]]
    assert (len(taken), taken.count(busy)) == (4, 3)
    assert mine in {each.subject.id for each in first}


@pytest.mark.parametrize(
    ("table", "said"),
    [("webhook_key", "webhook.unavailable"), ("webhook_attempt", "webhook.not_recorded")],
)
async def test_a_database_fault_does_not_end_the_delivery(
    pool: Pool,
    end: End,
    monkeypatch: pytest.MonkeyPatch,
    log_lines: Sequence[EventDict],
    table: str,
    said: str,
) -> None:
    """Such as a table that is missing while a backup is restored."""
    monkeypatch.setattr(webhook_delivery, "RECOVERY_S", 0.01)
    async with receiving() as receiver, delivering(pool), connection(pool) as acquired:
        await acquired.execute(f"ALTER TABLE {table} RENAME TO away")
        await end(receiver.url)
        await until(lambda: said in [each["event"] for each in log_lines])
        await acquired.execute(f"ALTER TABLE away RENAME TO {table}")
        later = await end(receiver.url)
        assert (await ended(pool, later)).state is DeliveryState.DELIVERED


async def test_a_delivery_taken_over_by_another_keeper_is_not_recorded(
    pool: Pool, end: End
) -> None:
    """The first keeper was suspended for longer than its claim."""
    await end("https://receiver.example/")
    delivered = DeliveryState.DELIVERED
    async with connection(pool) as acquired:
        (stale,) = await webhooks.claim(acquired, limit=1, claim_s=1e-6, **BOUNDS)
        (fresh,) = await webhooks.claim(acquired, limit=1, claim_s=60, **BOUNDS)
        assert not await webhooks.claim(acquired, limit=1, claim_s=60, **BOUNDS)

        async def record(claimed: ClaimedDelivery, state: DeliveryState) -> bool:
            return await webhooks.record_attempt(
                acquired, claimed, state, status=200, error=None, took_ms=1
            )

        assert not await record(stale, DeliveryState.FAILED)
        assert await record(fresh, delivered)
        assert not await record(fresh, delivered)
    (delivery,) = await deliveries(pool)
    assert (delivery.state, delivery.tries, len(delivery.attempts)) == (delivered, 1, 1)


async def test_for_a_day_after_rotation_both_secrets_sign(pool: Pool, end: End) -> None:
    """H2: rotation."""
    account = await make_account(pool)
    old, new = KEYS.formatted(account, 1), KEYS.formatted(account, 2)
    async with connection(pool) as acquired:
        await webhooks.rotate_signing_key(acquired, account)
    async with receiving() as receiver, delivering(pool):
        await ended(pool, await end(receiver.url))
        async with connection(pool) as acquired:
            await acquired.execute(
                "UPDATE webhook_key SET rotated_at = now() - interval '24 hours 1 second'"
            )
        await ended(pool, await end(receiver.url))
    during, after = receiver.got
    assert verified(during, old) == verified(during, new)
    signed = hmac.new(KEYS.key_of(account, 2), during.body, hashlib.sha256).hexdigest()
    assert during.headers["x-judge-signature"] == f"sha256={signed}"
    assert verified(after, new)
    assert " " not in after.headers["webhook-signature"]


async def test_the_log_shows_only_the_host_of_the_url(
    pool: Pool, end: End, log_lines: Sequence[EventDict]
) -> None:
    """P4, O2."""
    async with receiving() as receiver, delivering(pool):
        submission = await end(f"{receiver.url}/hidden-path?token=hidden-query")
        await ended(pool, submission)
        await until(lambda: any(each["event"] == "webhook.attempt" for each in log_lines))
    (line,) = (each for each in log_lines if each["event"] == "webhook.attempt")
    assert line["submissionId"] == submission
    assert (line["host"], line["result"], line["attempt"]) == ("127.0.0.1", "delivered", 1)
    assert {"latencyMs", "userId", "taskType"} <= line.keys()
    assert "hidden" not in str(log_lines)


async def test_old_deliveries_are_trimmed(pool: Pool, end: End) -> None:
    async with receiving() as receiver, delivering(pool):
        old, young = await end(receiver.url), await end(receiver.url)
        await until_ended(pool)
    async with connection(pool) as acquired:
        (first,) = await deliveries(pool, old)
        assert await webhooks.resend(acquired, first.id)
        await acquired.execute(
            "UPDATE webhook_delivery SET ended_at = now() - interval '31 days' "
            "WHERE work_id = $1 AND state <> 'waiting'",
            old,
        )
        month_s = 30 * 86400
        await webhooks.trim(acquired, older_than_s=month_s, limit=10)
        assert len(await deliveries(pool, old)) == 2, "it has a repeat that waits"
        await acquired.execute(
            "UPDATE webhook_delivery SET state = 'failed', "
            "ended_at = now() - interval '31 days' WHERE work_id = $1",
            old,
        )
        await webhooks.trim(acquired, older_than_s=month_s, limit=10)
        await webhooks.trim(acquired, older_than_s=month_s, limit=10)
        left = await acquired.fetchval("SELECT count(*) FROM webhook_attempt")
    assert not await deliveries(pool, old)
    assert len(await deliveries(pool, young)) == left == 1


FILL = """
INSERT INTO webhook_delivery (id, work_id, account_id, kind, url, state, ended_at)
SELECT 'whd_' || n, $1, $2, 'kind ' || n, 'https://host' || n % 20 || '.example/',
       CASE WHEN n % 2 = 0 THEN 'waiting' ELSE 'delivered' END,
       CASE WHEN n % 2 = 1 THEN now() END
  FROM generate_series(1, 8000) AS n"""


async def test_due_deliveries_are_found_by_their_index(pool: Pool) -> None:
    account = await make_account(pool)
    submission = await make_submission(pool, account)
    async with connection(pool) as acquired:
        await acquired.execute(FILL, submission, account)
        await acquired.execute("ANALYZE")
        statement = webhooks.SQL.claim.sql
        rows = await acquired.fetch(f"EXPLAIN {statement}", 4, 25, 50, 15.0, 86400.0)
    plan = "\n".join(row[0] for row in rows)
    assert "webhook_waiting" in plan
    assert "webhook_claimed" in plan
    assert "Seq Scan on webhook_delivery" not in plan, plan
