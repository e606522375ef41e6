"""Response models of workers."""

from datetime import datetime

from deemster.api.models.field_types import ResponseModel
from deemster.store.workers import WorkerView


class WorkerOut(ResponseModel):
    id: str
    host: str
    languages: list[str]
    slots: int
    """Submissions that the worker can judge at the same time."""
    busy: int
    """Slots that are judging now."""
    cycle_s: float | None
    """Average time that a submission occupies a slot; null if the worker has judged none."""
    started_at: datetime
    seen_at: datetime
    draining_at: datetime | None
    """When the worker stopped taking jobs; null if it takes jobs."""


class WorkersOut(ResponseModel):
    items: list[WorkerOut]


def worker_out(worker: WorkerView) -> WorkerOut:
    return WorkerOut.model_validate(worker, from_attributes=True)
