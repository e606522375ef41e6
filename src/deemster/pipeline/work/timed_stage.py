"""Base classes of stages that have one time limit, and of those that follow a verdict."""

from typing import ClassVar, Final

from deemster.domain.ids import SubmissionId, WorkId
from deemster.domain.stage import StageDetails
from deemster.domain.work import WorkDetails
from deemster.store.pool import Connection
from deemster.store.stages import stage_details

OVERHEAD_S: Final = 5.0
"""A lock lasts so much longer than the stage may take."""


class TimedStage:
    __slots__ = ()
    limit_s: ClassVar[float]
    """Deadline of the whole stage (Q4)."""

    def parts(self, details: WorkDetails) -> int:
        return 0

    def lock_s(self, details: WorkDetails) -> float:
        return self.limit_s + OVERHEAD_S

    def deadline_s(self, details: WorkDetails) -> float:
        return self.limit_s


class SubmissionStage(TimedStage):
    """A stage that follows the verdict of a submission."""

    __slots__ = ()

    async def read(self, connection: Connection, work: WorkId) -> StageDetails | None:
        return await stage_details(connection, SubmissionId(work))
