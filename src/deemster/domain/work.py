"""What the pipeline needs to know of a submission or an execution to run it."""

from dataclasses import dataclass

from deemster.domain.ids import AccountId, WorkId
from deemster.domain.lifecycle import State


@dataclass(frozen=True, slots=True)
class WorkDetails:
    id: WorkId
    state: State
    attempt: int
    account: AccountId
    language: str

    @property
    def context(self) -> dict[str, str]:
        """What a dead letter says besides the error."""
        return {"language": self.language}
