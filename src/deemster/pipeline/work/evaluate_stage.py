"""The stage that evaluates a judged submission by a rubric, with the evaluator it is given."""

from dataclasses import dataclass
from typing import ClassVar, Generic, Protocol, TypeVar

from deemster.domain.job import Task
from deemster.domain.judgement import OnCase
from deemster.domain.stage import StageDetails
from deemster.domain.stored_analysis import StoredAnalysis
from deemster.pipeline.verdict.follow_up import end_stage
from deemster.pipeline.work.timed_stage import SubmissionStage
from deemster.store import analyses
from deemster.store.pool import Connection, Pool, connection, transaction

E = TypeVar("E")


class Evaluator(Protocol[E]):
    """What a worker needs to evaluate submissions."""

    async def evaluate(self, details: StageDetails, analysis: StoredAnalysis | None) -> E:
        """`Unavailable` is retried, `Refused` is not. `analysis` is None if there is none."""
        ...

    async def record(self, writing: Connection, details: StageDetails, evaluation: E) -> str:
        """Stores the evaluation, in the transaction that ends the stage, only once; returns it
        in a word, for the log.
        """
        ...


@dataclass(frozen=True, slots=True)
class EvaluateStage(SubmissionStage, Generic[E]):
    limit_s: ClassVar[float] = 45.0
    pool: Pool
    evaluator: Evaluator[E]
    task: Task = Task.EVALUATE

    async def run(self, details: StageDetails, on_part: OnCase) -> E:
        async with connection(self.pool) as acquired:
            analysis = await analyses.get(acquired, details.id)
        return await self.evaluator.evaluate(details, analysis)

    async def settle(self, details: StageDetails, result: E) -> str:
        async with transaction(self.pool) as writing:
            await end_stage(writing, details)
            return await self.evaluator.record(writing, details, result)
