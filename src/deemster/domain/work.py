"""The data of a submission, an execution or a requested analysis that a worker reads first."""

from dataclasses import dataclass, field, replace
from typing import Self

from deemster.domain.ids import AccountId, WorkId
from deemster.domain.job import Task, first_task
from deemster.domain.lifecycle import State


@dataclass(frozen=True, slots=True)
class WorkDetails:
    id: WorkId
    state: State
    attempt: int
    account: AccountId
    language: str
    age_s: float = field(default=0.0, kw_only=True, compare=False)
    """Seconds since the task began to wait for its first start, when this was read."""

    @property
    def task(self) -> Task:
        """What the work waits for, or what is being done with it."""
        return first_task(self.id)

    @property
    def tries(self) -> int:
        """How often the task was started."""
        return self.attempt

    @property
    def is_startable(self) -> bool:
        """Whether the task waits for a worker."""
        return self.state is State.QUEUED

    def started(self) -> Self:
        """As it is when a worker has started the task."""
        return replace(self, state=State.RUNNING, attempt=self.attempt + 1)

    @property
    def context(self) -> dict[str, str]:
        """What a dead letter says besides the error."""
        return {"language": self.language}
