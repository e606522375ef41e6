"""Processes that share a database do not block each other for long."""

import asyncio

import pytest

from deemster.domain.errors import Unavailable
from deemster.domain.ids import SubmissionId
from deemster.domain.lifecycle import Event
from deemster.store.lifecycle import advance, lock_state
from deemster.store.pool import Pool, connection, open_pool, transaction
from tests.builders import make_submission
from tests.waiting import PATIENCE_S


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


@pytest.mark.parametrize(("durable", "expected"), [(True, "on"), (False, "off")])
async def test_a_commit_waits_for_the_disk_only_if_it_must_be_durable(
    database_url: str, durable: bool, expected: str
) -> None:
    async with (
        open_pool(database_url, name="test", durable=durable) as pool,
        connection(pool) as acquired,
    ):
        assert await acquired.fetchval("SHOW synchronous_commit") == expected
