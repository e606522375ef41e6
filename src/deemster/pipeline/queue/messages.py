"""The payload of a queued job: ids only, every field checked (Q10)."""

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from deemster.domain.errors import Refused
from deemster.domain.ids import ProblemId, RevisionDigest, kind_of, work_id
from deemster.domain.job import QUEUE_OF, TRANSMITTABLE, Job, QueueName, Task
from deemster.pattern_messages import ID, text_form

Id = Annotated[str, text_form(ID, min_length=1, max_length=200)]
Count = Annotated[int, Field(ge=0, lt=2**31, strict=True)]


class Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    work: Id
    task: Task
    problem: Id | None = None
    revision: Id | None = None
    attempt: Count
    dispatch: Count

    @classmethod
    def of(cls, job: Job) -> Self:
        return cls(
            work=job.work,
            task=job.task,
            problem=job.problem,
            revision=job.revision,
            attempt=job.attempt,
            dispatch=job.dispatch,
        )

    def to_job(self, priority: int) -> Job:
        return Job(
            work=work_id(self.work),
            task=self.task,
            dispatch=self.dispatch,
            priority=priority,
            problem=ProblemId(self.problem) if self.problem else None,
            revision=RevisionDigest(self.revision) if self.revision else None,
            attempt=self.attempt,
        )


def pack(job: Job) -> dict[str, Any]:
    return Message.of(job).model_dump(mode="json")


def unpack(data: str, queue: QueueName, priority: int) -> Job:
    """Raises Refused with the names of the bad fields, never with their values."""
    try:
        message = Message.model_validate_json(data)
    except ValidationError as fault:
        fields = sorted({".".join(map(str, error["loc"])) or "?" for error in fault.errors()})
        raise Refused(f"bad payload: {', '.join(fields)[:200]}") from None
    if message.task.kind != kind_of(work_id(message.work)):
        raise Refused(f"bad payload: {message.task} is no task for the given work")
    if (message.task.kind == "submission") != (message.revision is not None):
        raise Refused("bad payload: revision")
    belongs = (
        message.task in TRANSMITTABLE
        if queue is QueueName.TRANSMIT
        else QUEUE_OF[message.task] is queue
    )
    if not belongs:
        raise Refused(f"bad payload: {message.task} does not belong in the queue {queue}")
    return message.to_job(priority)
