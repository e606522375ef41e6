"""Moves a submission with a verdict to its next stage, with the stage's job (P1, S5)."""

from collections.abc import Mapping, Sequence
from typing import Any

from deemster.domain.ids import WorkId
from deemster.domain.job import Task
from deemster.domain.job_events import ENTERED_BY
from deemster.domain.lifecycle import Event
from deemster.domain.stage import StageDetails
from deemster.store import dead_letters, outbox
from deemster.store.lifecycle import advance
from deemster.store.notifications import notify_event
from deemster.store.pool import Connection


async def enter_stage(
    writing: Connection,
    work: WorkId,
    attempt: int,
    stages: Sequence[Task],
    *,
    after: Task | None = None,
    reason: str | None = None,
) -> None:
    """Begins the first of the stages that are left. Without any, the submission has ended.

    `after` is the stage that ends; None: the run. The caller writes its result in the same
    transaction. Raises StateChanged if the submission is no longer in that stage or run.
    """
    if not stages:
        await advance(writing, Event.COMPLETE, work, attempt, in_stage=after, reason=reason)
        return
    task = stages[0]
    step = await advance(
        writing,
        ENTERED_BY[task],
        work,
        attempt,
        in_stage=after,
        stages=stages,
        reason=reason,
    )
    await outbox.add(writing, work, task, dispatch=step.dispatch, attempt=step.attempt)


async def end_stage(writing: Connection, details: StageDetails) -> None:
    """Begins what follows the stage. Raises StateChanged if it has ended before."""
    await enter_stage(
        writing, details.id, details.attempt, details.stages[1:], after=details.task
    )


async def give_up_stage(
    writing: Connection,
    work: WorkId,
    attempt: int,
    stages: Sequence[Task],
    error: str,
    context: Mapping[str, Any] | None = None,
) -> None:
    """Goes on without the result of the first stage, and leaves a dead letter for admins."""
    task = stages[0]
    await enter_stage(writing, work, attempt, stages[1:], after=task, reason=f"{task} failed")
    await dead_letters.add(writing, work, task, attempt, error, context or {})
    await notify_event(writing)
