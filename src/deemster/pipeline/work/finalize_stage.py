"""The last stage: counts what the stages found, and ends the submission, once (I3)."""

from dataclasses import dataclass
from typing import ClassVar

from deemster.domain.job import Task
from deemster.domain.judgement import OnCase
from deemster.domain.stage import StageDetails
from deemster.pipeline.verdict.follow_up import end_stage
from deemster.pipeline.work.timed_stage import SubmissionStage
from deemster.store.pool import Pool, transaction
from deemster.store.stages import count_scores


@dataclass(frozen=True, slots=True)
class FinalizeStage(SubmissionStage):
    """The guarded state change also writes the webhook `submission.evaluated`, and its event
    makes all caches forget the submission.
    """

    limit_s: ClassVar[float] = 20.0
    pool: Pool
    task: Task = Task.FINALIZE

    async def run(self, details: StageDetails, on_part: OnCase) -> None:
        """All that it does is in the transaction of `settle`."""

    async def settle(self, details: StageDetails, result: None) -> str:
        async with transaction(self.pool) as writing:
            await end_stage(writing, details)
            await count_scores(writing, details.id)
        return "finalized"
