"""Retries failed jobs and jobs of dead workers, or makes them dead letters (Q3, Q6)."""

from collections.abc import Mapping
from typing import Any, Final

import structlog

from deemster.domain.errors import LostRace
from deemster.domain.ids import WorkId
from deemster.domain.job import Task
from deemster.domain.job_events import events_of, stage_of
from deemster.domain.lifecycle import Event
from deemster.domain.retry_policy import (
    JUDGE_FAILED,
    MaxTries,
    is_worth_retrying,
    message_for_contestant,
    pause_s,
)
from deemster.domain.stage import StageDetails
from deemster.domain.work import WorkDetails
from deemster.metrics import FAILED_JOBS, RETRIES, STALLED_JOBS
from deemster.pipeline.verdict.follow_up import give_up_stage
from deemster.store import dead_letters, leases, outbox, workers
from deemster.store.leases import StaleLease
from deemster.store.lifecycle import advance, lock_state
from deemster.store.notifications import notify_event
from deemster.store.pool import (
    AlsoWrite,
    Connection,
    Pool,
    connection,
    transaction,
    write_nothing,
)
from deemster.telemetry import id_field

log = structlog.get_logger()
RESCUE_BATCH: Final = 200


async def retry_or_fail(
    pool: Pool,
    running: WorkDetails,
    fault: BaseException,
    *,
    max_tries: int,
    also: AlsoWrite = write_nothing,
) -> bool:
    """Handles a failed attempt. Returns True if there will be another attempt."""
    error = f"{type(fault).__name__}: {fault}"
    task = running.task
    again = is_worth_retrying(fault) and running.tries < max_tries
    async with transaction(pool) as writing:
        if again:
            await requeue(
                writing,
                events_of(task).retry,
                running.id,
                task,
                running.attempt,
                reason=f"attempt {running.attempt} failed: {type(fault).__name__}",
                delay_s=pause_s(task, running.tries, fault),
            )
        elif isinstance(running, StageDetails):
            await give_up_stage(
                writing, running.id, running.attempt, running.stages, error, running.context
            )
        else:
            said = message_for_contestant(fault)
            await fail(writing, running.id, task, running.attempt, error, said, running.context)
        await also(writing)
    if not again:
        log.error(
            "job.dead_letter",
            **id_field(running.id),
            taskType=task,
            attempt=running.attempt,
            error=error,
        )
    (RETRIES if again else FAILED_JOBS).labels(task).inc()
    return again


async def requeue(
    writing: Connection,
    event: Event,
    work: WorkId,
    task: Task,
    attempt: int,
    *,
    reason: str,
    delay_s: float = 0,
) -> None:
    """Returns the task of a submission or execution to the queue, with a new job."""
    step = await advance(writing, event, work, attempt, in_stage=stage_of(task), reason=reason)
    await outbox.add(
        writing,
        work,
        task,
        dispatch=step.dispatch,
        attempt=step.attempt,
        delay_s=delay_s,
    )


async def fail(
    writing: Connection,
    work: WorkId,
    task: Task,
    attempt: int,
    error: str,
    said: str = JUDGE_FAILED,
    context: Mapping[str, Any] | None = None,
) -> None:
    """Fails a submission or execution: its user sees `said`, admins see the dead letter."""
    await advance(writing, Event.FAIL, work, attempt, reason=said)
    await dead_letters.add(writing, work, task, attempt, error, context or {})
    await notify_event(writing)


async def rescue(pool: Pool, *, max_tries: MaxTries) -> int:
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
                again = await rescue_one(writing, each, max_tries.of(each.task))
        except LostRace:
            continue  # the job goes on or has ended after all, or another keeper was first
        rescued += 1
        STALLED_JOBS.labels(each.task).inc()
        (RETRIES if again else FAILED_JOBS).labels(each.task).inc()
        log.warning(
            "job.rescued", **id_field(each.work), taskType=each.task, attempt=each.attempt
        )
    return rescued


async def rescue_one(writing: Connection, stale: StaleLease, max_tries: int) -> bool:
    """Returns True if there will be another attempt.

    Raises LostRace if the worker, which was silent when the lease was read, is heard again.
    """
    reason = f"worker {stale.worker or '?'} stopped sending heartbeats"
    work, task, attempt = stale.work, stale.task, stale.attempt
    # First the work, then its lease, as all transactions lock them: two could wait for ever.
    await lock_state(writing, work)
    if stale.beat_at is not None and not await leases.end_stale(writing, stale):
        raise LostRace(f"{work} is not stale any more: attempt {attempt} goes on.")
    again = stale.tries < max_tries
    if again:
        rescued = events_of(task).rescue
        await requeue(writing, rescued, work, task, attempt, reason=reason)
    elif stale.stages:
        await give_up_stage(writing, work, attempt, stale.stages, reason)
    else:
        await fail(writing, work, task, attempt, reason)
    return again
