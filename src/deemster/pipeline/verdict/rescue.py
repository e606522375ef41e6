"""The watchdog's part for runs whose worker was heard of no more (Q6)."""

from typing import Final

import structlog

from deemster.domain.errors import LostRace
from deemster.domain.lifecycle import Event
from deemster.pipeline.verdict.retry import bury, send_again
from deemster.store import leases, workers
from deemster.store.leases import Stale
from deemster.store.pool import Connection, Pool, connection, transaction

log = structlog.get_logger()
BATCH: Final = 200


async def rescue(pool: Pool, *, most_attempts: int) -> int:
    """Sends stale runs again, or fails them after the last attempt; how many that were."""
    async with connection(pool) as reading:
        gone = await workers.expire(reading)
        stale = await leases.stale(reading, most=BATCH)
    for worker in gone:
        log.warning("worker.silent", worker=worker)
    rescued = 0
    for each in stale:
        try:
            async with transaction(pool) as writing:
                await rescue_one(writing, each, most_attempts)
        except LostRace:
            continue  # it ended after all, or another keeper was first
        rescued += 1
        log.warning("submission.rescued", submissionId=each.submission, attempt=each.attempt)
    return rescued


async def rescue_one(writing: Connection, stale: Stale, most_attempts: int) -> None:
    reason = f"worker {stale.worker or '?'} was heard of no more"
    if stale.attempt < most_attempts:
        await send_again(writing, Event.RESCUE, stale.submission, stale.attempt, reason=reason)
    else:
        await bury(writing, stale.submission, stale.attempt, reason)
