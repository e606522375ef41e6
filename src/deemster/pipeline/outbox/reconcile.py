"""Finds submissions whose job the queue has lost, and sends them again (Q6)."""

from collections.abc import Sequence
from typing import Final

import structlog

from deemster.domain.errors import LostRace
from deemster.domain.job import Job, QueueName, Task
from deemster.domain.lifecycle import Event
from deemster.pipeline.queue.producer import Producer
from deemster.store import outbox
from deemster.store.lifecycle import advance
from deemster.store.pool import Pool, connection, transaction
from deemster.store.submissions import lost_candidates

log = structlog.get_logger()

BATCH: Final = 500
QUIET_S: Final = 10.0
"""A job that was sent less than so long ago is taken to be there."""


async def reconcile(pool: Pool, producer: Producer, *, quiet_s: float = QUIET_S) -> int:
    """How many were lost. Only the head of the line is looked at: the rest comes to be it."""
    async with connection(pool) as reading:
        waiting = await lost_candidates(reading, quiet_s=quiet_s, most=BATCH)
    if not waiting:
        return 0
    present = await producer.present(by_queue(waiting))
    lost = [errand for errand in waiting if errand.job_id not in present]
    for errand in lost:
        await resend(pool, errand)
    if lost:
        log.warning("queue.jobs_lost", jobs=len(lost), looked_at=len(waiting))
    return len(lost)


def by_queue(errands: Sequence[Job]) -> dict[QueueName, list[str]]:
    found: dict[QueueName, list[str]] = {}
    for errand in errands:
        found.setdefault(errand.queue, []).append(errand.job_id)
    return found


async def resend(pool: Pool, errand: Job) -> None:
    try:
        async with transaction(pool) as writing:
            step = await advance(
                writing,
                Event.RESEND,
                errand.submission,
                errand.attempt,
                reason="its job was not in the queue any more",
            )
            await outbox.add(
                writing,
                errand.submission,
                Task.RUN,
                dispatch=step.dispatch,
                attempt=step.attempt,
            )
    except LostRace:
        pass  # it was started or cancelled while we looked
