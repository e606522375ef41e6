"""Evaluates submissions by rubrics and models for the stage."""

import json
from dataclasses import dataclass

from deemster.domain.evaluation import Evaluation
from deemster.domain.stage import StageDetails
from deemster.domain.stored_analysis import StoredAnalysis
from deemster.pipeline.evaluate.evaluator import EvaluateService
from deemster.pipeline.evaluate.read_request import facts_of_sarif, read_request
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Connection, Pool, connection


@dataclass(frozen=True, slots=True)
class RubricEvaluator:
    pool: Pool
    artifacts: Artifacts
    service: EvaluateService
    max_tries: int

    async def evaluate(
        self, details: StageDetails, analysis: StoredAnalysis | None
    ) -> Evaluation:
        """In the last attempt facts answer if no model does, so that the stage succeeds."""
        facts = None
        if analysis is not None:
            facts = facts_of_sarif(json.loads(analysis.log()), analysis.scores)
        async with connection(self.pool) as reading:
            request = await read_request(
                reading,
                self.artifacts,
                details.id,
                analysis=facts,
                is_last_attempt=details.tries >= self.max_tries,
            )
        return await self.service.evaluate(request)

    async def record(
        self, writing: Connection, details: StageDetails, evaluation: Evaluation
    ) -> str:
        return await self.service.record(writing, evaluation)
