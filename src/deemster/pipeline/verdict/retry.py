"""What becomes of a run that the judge failed at: an attempt more, or a dead letter (Q3)."""

from collections.abc import Mapping
from typing import Any

from deemster.domain.ids import SubmissionId
from deemster.domain.job import Task
from deemster.domain.lifecycle import Event
from deemster.domain.retry_policy import (
    JUDGE_FAILED,
    backoff_s,
    is_worth_retrying,
    message_for_contestant,
)
from deemster.domain.submission import JobDetails
from deemster.store import dead_letters, leases, outbox
from deemster.store.lifecycle import advance
from deemster.store.pool import Connection, Pool, transaction


async def give_up(
    pool: Pool, running: JobDetails, fault: BaseException, *, most_attempts: int
) -> bool:
    """True: it will be tried again."""
    error = f"{type(fault).__name__}: {fault}"
    again = is_worth_retrying(fault) and running.attempt < most_attempts
    async with transaction(pool) as connection:
        if again:
            await send_again(
                connection,
                Event.RETRY,
                running.id,
                running.attempt,
                reason=f"attempt {running.attempt} failed: {type(fault).__name__}",
                delay_s=backoff_s(running.attempt),
            )
        else:
            said = message_for_contestant(fault)
            context = {"language": running.language, "revision": running.revision}
            await bury(connection, running.id, running.attempt, error, said, context)
    return again


async def send_again(
    connection: Connection,
    event: Event,
    submission: SubmissionId,
    attempt: int,
    *,
    reason: str,
    delay_s: float = 0,
) -> None:
    """Back into the line, with a job of its own."""
    step = await advance(connection, event, submission, attempt, reason=reason)
    await leases.drop(connection, submission)
    await outbox.add(
        connection,
        submission,
        Task.RUN,
        dispatch=step.dispatch,
        attempt=step.attempt,
        delay_s=delay_s,
    )


async def bury(
    connection: Connection,
    submission: SubmissionId,
    attempt: int,
    error: str,
    said: str = JUDGE_FAILED,
    context: Mapping[str, Any] | None = None,
) -> None:
    """It failed for good: the contestant hears `said`, the admin finds the rest."""
    await advance(connection, Event.FAIL, submission, attempt, reason=said)
    await dead_letters.bury(connection, submission, Task.RUN, attempt, error, context or {})
    await leases.drop(connection, submission)
