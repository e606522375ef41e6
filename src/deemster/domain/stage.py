"""A submission in one of the stages that follow its verdict, as a worker gets it."""

from dataclasses import dataclass, replace
from typing import Self

from deemster.domain.job import Task
from deemster.domain.submission import SubmissionWork
from deemster.domain.verdict import Verdict


@dataclass(frozen=True, slots=True)
class StageDetails(SubmissionWork):
    stages: tuple[Task, ...]
    """The tasks that are left, the present one first; empty if there is none."""
    stage_tries: int
    is_leased: bool
    """Whether a worker runs the stage now."""
    verdict: Verdict | None

    @property
    def task(self) -> Task:
        return self.stages[0] if self.stages else Task.RUN

    @property
    def tries(self) -> int:
        return self.stage_tries

    @property
    def is_startable(self) -> bool:
        return bool(self.stages) and not self.is_leased

    def started(self) -> Self:
        return replace(self, attempt=self.attempt + 1, stage_tries=self.stage_tries + 1)
