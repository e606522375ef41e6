"""Says which events start, retry and re-send the jobs of each task."""

from dataclasses import dataclass
from typing import Final

from deemster.domain.job import Task
from deemster.domain.lifecycle import Event


@dataclass(frozen=True, slots=True)
class JobEvents:
    start: Event
    retry: Event
    rescue: Event
    resend: Event


OF_FIRST_TASK: Final = JobEvents(Event.START, Event.RETRY, Event.RESCUE, Event.RESEND)
OF_STAGE: Final = JobEvents(
    Event.STAGE_START, Event.STAGE_RETRY, Event.STAGE_RESCUE, Event.STAGE_RESEND
)
ENTERED_BY: Final[dict[Task, Event]] = {
    Task.ANALYZE: Event.ANALYZE,
    Task.EVALUATE: Event.EVALUATE,
    Task.FINALIZE: Event.FINALIZE,
}
"""The events that begin the stages after a verdict."""


def stage_of(task: Task) -> Task | None:
    """The stage after the verdict that the task is. None: it belongs to no stage."""
    return task if task in ENTERED_BY else None


def events_of(task: Task) -> JobEvents:
    return OF_STAGE if task in ENTERED_BY else OF_FIRST_TASK
