"""Processes that share a database do not block each other for long."""

import asyncio
from functools import partial

import asyncpg
import pytest

from deemster.domain.errors import Unavailable
from deemster.domain.ids import SubmissionId
from deemster.domain.lifecycle import Event
from deemster.store.frozen_clients import end_frozen
from deemster.store.lifecycle import advance, lock_state
from deemster.store.pool import Pool, connection, open_pool, transaction
from tests.builders import make_submission
from tests.waiting import PATIENCE_S, until

LONG_S = 0.25
"""A client that is silent for so long is frozen, in these tests."""


async def freeze(pool: Pool, submission: SubmissionId) -> None:
    """Stays idle in a transaction until another one has finished, then continues."""
    async with transaction(pool) as frozen:
        await advance(frozen, Event.CANCEL, submission, 0)
        async with asyncio.timeout(PATIENCE_S), transaction(pool) as other:
            await advance(other, Event.PUBLISH, submission, 0)
        await lock_state(frozen, submission)


async def test_a_frozen_transaction_does_not_block_others(pool: Pool) -> None:
    """Q6, J12: the server ends it, so its locks and its write are gone."""
    submission = await make_submission(pool)
    with pytest.raises(Unavailable):
        await freeze(pool, submission)
    async with connection(pool) as acquired:
        assert await lock_state(acquired, submission) == ("QUEUED", 0)


async def test_a_transaction_frozen_before_a_new_statement_does_not_block_others(
    pool: Pool,
) -> None:
    """Q6, J12: the server calls it active, so the keeper ends it."""
    submission = await make_submission(pool)
    with pytest.raises(Unavailable):
        await freeze_before_a_new_statement(pool, submission)
    async with connection(pool) as acquired:
        assert await lock_state(acquired, submission) == ("QUEUED", 0)


async def freeze_before_a_new_statement(pool: Pool, submission: SubmissionId) -> None:
    async with transaction(pool) as frozen:
        await advance(frozen, Event.CANCEL, submission, 0)
        await frozen.prepare("SELECT 'a statement that is new to this connection'")
        await until(partial(ends_a_frozen_client, pool))
        async with asyncio.timeout(PATIENCE_S), transaction(pool) as other:
            await advance(other, Event.PUBLISH, submission, 0)
        await lock_state(frozen, submission)


async def ends_a_frozen_client(pool: Pool) -> bool:
    async with connection(pool) as acquired:
        return await end_frozen(acquired, silent_s=LONG_S) == ["deemster test"]


async def test_only_frozen_transactions_are_ended(pool: Pool, database_url: str) -> None:
    """Not a statement that takes long, an idle connection, or one of another program."""
    stranger = await asyncpg.connect(database_url)
    asleep = asyncio.create_task(sleep_in_a_transaction(pool))
    async with connection(pool) as idle:
        await stranger.execute("BEGIN")
        await stranger.prepare("SELECT 1")
        await until(partial(are_both_old, pool))
        assert await end_frozen(idle, silent_s=LONG_S) == []
    assert await stranger.fetchval("SELECT 1") == 1
    await stranger.close()
    asleep.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asleep


async def sleep_in_a_transaction(pool: Pool) -> None:
    async with transaction(pool) as acquired:
        await acquired.execute("SELECT pg_sleep($1)", float(PATIENCE_S), timeout=PATIENCE_S)


async def are_both_old(pool: Pool) -> bool:
    """The transaction that sleeps and the one of the other program."""
    async with connection(pool) as acquired:
        found = await acquired.fetchval(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND state = 'active' AND state_change < now() - make_interval(secs => $1)",
            LONG_S,
        )
    return bool(found == 2)


@pytest.mark.parametrize(("durable", "expected"), [(True, "on"), (False, "off")])
async def test_a_commit_waits_for_the_disk_only_if_it_must_be_durable(
    database_url: str, durable: bool, expected: str
) -> None:
    async with (
        open_pool(database_url, name="test", durable=durable) as pool,
        connection(pool) as acquired,
    ):
        assert await acquired.fetchval("SHOW synchronous_commit") == expected
