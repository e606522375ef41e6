"""What a database that many processes share has to bear."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from deemster.domain.errors import Unavailable
from deemster.domain.ids import SubmissionId
from deemster.domain.lifecycle import Event
from deemster.store.lifecycle import advance, lock_state
from deemster.store.pool import Pool, connection, open_pool, transaction
from tests.builders import make_submission
from tests.waiting import PATIENCE_S


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    async with open_pool(database_url, name="test") as opened:
        yield opened


async def freeze(pool: Pool, submission: SubmissionId) -> None:
    """In a transaction, until another has done what it wanted; then it goes on."""
    async with transaction(pool) as frozen:
        await advance(frozen, Event.CANCEL, submission, 0)
        async with asyncio.timeout(PATIENCE_S), transaction(pool) as other:
            await advance(other, Event.PUBLISH, submission, 0)
        await lock_state(frozen, submission)


async def test_who_freezes_in_a_transaction_holds_nobody_up(pool: Pool) -> None:
    """Q6, J12: its locks end by themselves, and its own write comes to nothing."""
    submission = await make_submission(pool)
    with pytest.raises(Unavailable):
        await freeze(pool, submission)
    async with connection(pool) as acquired:
        assert await lock_state(acquired, submission) == ("QUEUED", 0)
