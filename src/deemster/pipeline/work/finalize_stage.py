"""The last stage: counts what the stages found, and ends the submission, once (I3)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from deemster.domain.ids import SubmissionId, WorkId
from deemster.domain.job import Task
from deemster.domain.stage import StageDetails
from deemster.pipeline.verdict.follow_up import enter_stage
from deemster.store.pool import Connection, Pool, transaction
from deemster.store.stages import count_scores, stage_details

DEADLINE_S: Final = 20.0


@dataclass(frozen=True, slots=True)
class FinalizeStage:
    """The guarded state change also writes the webhook `submission.evaluated`, and its event
    makes all caches forget the submission.
    """

    pool: Pool
    task: Task = Task.FINALIZE

    async def read(self, connection: Connection, work: WorkId) -> StageDetails | None:
        return await stage_details(connection, SubmissionId(work))

    def parts(self, details: StageDetails) -> int:
        return 0

    def lock_s(self, details: StageDetails) -> float:
        return DEADLINE_S

    def deadline_s(self, details: StageDetails) -> float:
        return DEADLINE_S

    async def run(self, details: StageDetails, on_part: Callable[[], None]) -> None:
        """All that it does is in the transaction of `settle`."""

    async def settle(self, details: StageDetails, result: None) -> str:
        async with transaction(self.pool) as writing:
            await enter_stage(writing, details.id, details.attempt, details.stages[1:])
            await count_scores(writing, details.id)
        return "finalized"
