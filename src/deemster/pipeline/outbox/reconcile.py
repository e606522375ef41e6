"""Finds queued work whose job the queue has lost, and sends it again (Q6)."""

from typing import Final

import structlog

from deemster.domain.errors import LostRace
from deemster.domain.job import Job
from deemster.domain.job_events import events_of, stage_of
from deemster.metrics import LOST_JOBS
from deemster.pipeline.queue.producer import Producer
from deemster.store import outbox
from deemster.store.lifecycle import advance
from deemster.store.pool import Pool, connection, transaction
from deemster.store.submissions import list_possibly_lost

log = structlog.get_logger()

BATCH: Final = 500
QUIET_S: Final = 10.0
"""A job sent less than this time ago is assumed to be in the queue."""


async def reconcile(pool: Pool, producer: Producer, *, quiet_s: float = QUIET_S) -> int:
    """Returns how many were lost. It checks only the head of the queue, which moves on."""
    async with connection(pool) as reading:
        waiting = await list_possibly_lost(reading, quiet_s=quiet_s, limit=BATCH)
    if not waiting:
        return 0
    present = await producer.present(waiting)
    lost = [job for job in waiting if job.job_id not in present]
    for job in lost:
        await resend(pool, job)
    if lost:
        LOST_JOBS.inc(len(lost))
        log.warning("queue.jobs_lost", jobs=len(lost), looked_at=len(waiting))
    return len(lost)


async def resend(pool: Pool, job: Job) -> None:
    try:
        async with transaction(pool) as writing:
            step = await advance(
                writing,
                events_of(job.task).resend,
                job.work,
                job.attempt,
                in_stage=stage_of(job.task),
                reason="the queue had lost its job",
            )
            await outbox.add(
                writing,
                job.work,
                job.task,
                dispatch=step.dispatch,
                attempt=step.attempt,
            )
    except LostRace:
        pass  # it was started or cancelled meanwhile
