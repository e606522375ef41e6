"""Request and response models of the queues."""

from deemster.api.http.paging import Page, PageQuery
from deemster.api.models.field_types import ResponseModel
from deemster.domain.job import QueueName
from deemster.domain.queue_depth import JobState, LoadLevel, QueueDepth, is_alarming, load_level
from deemster.store.stats import QueueCounts


class QueueOut(ResponseModel):
    name: QueueName
    depth: int | None
    """Jobs that are waiting or delayed; null if the queue store does not answer."""
    waiting: int | None
    active: int | None
    delayed: int | None
    failed: int | None
    """Jobs that workers could not read. A submission that failed is a dead letter."""
    signal: LoadLevel | None
    alarm: bool | None
    """true if the queue is deeper than it should ever be."""


class WaitingOut(ResponseModel):
    """Submissions as the database counts them."""

    pending: int
    """Accepted, but not yet sent to the queue store."""
    queued: int
    running: int
    oldest_wait_s: float | None
    """null if no submission waits."""
    drained_per_s: float | None
    """Submissions that the workers judge per second; null if they have judged none."""
    estimated_wait_s: float | None
    """Time until all waiting submissions are judged."""


class QueuesOut(ResponseModel):
    signal: LoadLevel
    """For the larger of two numbers: jobs in the queue store, and waiting submissions."""
    reachable: bool
    """false if the queue store does not answer."""
    queues: list[QueueOut]
    submissions: WaitingOut


class JobsQuery(PageQuery):
    state: JobState = JobState.WAITING


class JobsPage(Page[str]):
    """Ids of jobs: the submission's id, the task, and how often the job was sent."""


def queue_out(name: QueueName, depth: QueueDepth | None) -> QueueOut:
    return QueueOut(
        name=name,
        depth=depth.backlog if depth else None,
        waiting=depth.waiting if depth else None,
        active=depth.active if depth else None,
        delayed=depth.delayed if depth else None,
        failed=depth.failed if depth else None,
        signal=load_level(depth.backlog) if depth else None,
        alarm=is_alarming(name, depth.backlog) if depth else None,
    )


def waiting_out(counts: QueueCounts) -> WaitingOut:
    return WaitingOut(
        pending=counts.pending,
        queued=counts.queued,
        running=counts.running,
        oldest_wait_s=counts.oldest_s,
        drained_per_s=counts.per_s,
        estimated_wait_s=counts.done_in_s,
    )
