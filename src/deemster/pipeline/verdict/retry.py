"""Retries failed jobs and jobs of dead workers, or makes them dead letters (Q3, Q6)."""

from collections.abc import Mapping
from typing import Any, Final

import structlog

from deemster.domain.errors import LostRace
from deemster.domain.ids import WorkId
from deemster.domain.job import first_task
from deemster.domain.lifecycle import Event
from deemster.domain.retry_policy import (
    JUDGE_FAILED,
    backoff_s,
    is_worth_retrying,
    message_for_contestant,
)
from deemster.domain.work import WorkDetails
from deemster.store import dead_letters, leases, outbox, workers
from deemster.store.leases import StaleLease
from deemster.store.lifecycle import advance
from deemster.store.notifications import notify_event
from deemster.store.pool import Connection, Pool, connection, transaction
from deemster.telemetry import id_field

log = structlog.get_logger()
RESCUE_BATCH: Final = 200


async def retry_or_fail(
    pool: Pool, running: WorkDetails, fault: BaseException, *, most_attempts: int
) -> bool:
    """Handles a failed attempt. Returns True if there will be another attempt."""
    error = f"{type(fault).__name__}: {fault}"
    again = is_worth_retrying(fault) and running.attempt < most_attempts
    async with transaction(pool) as writing:
        if again:
            await requeue(
                writing,
                Event.RETRY,
                running.id,
                running.attempt,
                reason=f"attempt {running.attempt} failed: {type(fault).__name__}",
                delay_s=backoff_s(running.attempt),
            )
        else:
            said = message_for_contestant(fault)
            await fail(writing, running.id, running.attempt, error, said, running.context)
    return again


async def requeue(
    writing: Connection,
    event: Event,
    work: WorkId,
    attempt: int,
    *,
    reason: str,
    delay_s: float = 0,
) -> None:
    """Returns a running submission or execution to the queue, with a new job."""
    step = await advance(writing, event, work, attempt, reason=reason)
    await outbox.add(
        writing,
        work,
        first_task(work),
        dispatch=step.dispatch,
        attempt=step.attempt,
        delay_s=delay_s,
    )


async def fail(
    writing: Connection,
    work: WorkId,
    attempt: int,
    error: str,
    said: str = JUDGE_FAILED,
    context: Mapping[str, Any] | None = None,
) -> None:
    """Fails a submission or execution: its user sees `said`, admins see the dead letter."""
    await advance(writing, Event.FAIL, work, attempt, reason=said)
    await dead_letters.add(writing, work, first_task(work), attempt, error, context or {})
    await notify_event(writing)


async def rescue(pool: Pool, *, most_attempts: int) -> int:
    """The watchdog: requeues jobs whose worker is silent; returns how many they were."""
    async with connection(pool) as reading:
        gone = await workers.mark_silent_gone(reading)
        stale = await leases.find_stale(reading, limit=RESCUE_BATCH)
    for worker in gone:
        log.warning("worker.silent", worker=worker)
    rescued = 0
    for each in stale:
        try:
            async with transaction(pool) as writing:
                await rescue_one(writing, each, most_attempts)
        except LostRace:
            continue  # the job ended after all, or another keeper was first
        rescued += 1
        log.warning("job.rescued", **id_field(each.work), attempt=each.attempt)
    return rescued


async def rescue_one(writing: Connection, stale: StaleLease, most_attempts: int) -> None:
    reason = f"worker {stale.worker or '?'} stopped sending heartbeats"
    if stale.attempt < most_attempts:
        await requeue(writing, Event.RESCUE, stale.work, stale.attempt, reason=reason)
    else:
        await fail(writing, stale.work, stale.attempt, reason)
