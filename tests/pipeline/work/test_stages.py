"""P1, S5, Q3: the executor runs stages after a verdict; one that fails is left out."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deemster.domain.errors import Unavailable
from deemster.domain.ids import WORKER, SubmissionId, WorkerId, new_id
from deemster.domain.job import STAGES, StagePolicy, Task
from deemster.domain.judgement import OnCase
from deemster.domain.lifecycle import State
from deemster.domain.stage import StageDetails
from deemster.domain.stored_analysis import AnalysisRecord, StoredAnalysis, compress
from deemster.domain.verdict import Verdict
from deemster.pipeline.verdict.attempt import Caps, settle
from deemster.pipeline.work.evaluate_stage import EvaluateStage
from deemster.pipeline.work.finalize_stage import FinalizeStage
from deemster.pipeline.work.heartbeat import RunningJobs
from deemster.pipeline.work.job_executor import JobExecutor, Stage
from deemster.store import analyses, dead_letters, submissions
from deemster.store.pool import Connection, Pool, connection, transaction
from tests.builders import judged, make_artifacts, make_submission, start_submission

ALL = StagePolicy(frozenset(STAGES), frozenset(STAGES))
RECORD = AnalysisRecord(compress("{}"), {"style": 70}, {}, 0)


@dataclass
class NotingEvaluator:
    """Fails so many times, and then notes each evaluation in the database."""

    failures: int = 0
    scores: list[StoredAnalysis | None] = field(default_factory=list)

    async def evaluate(self, details: StageDetails, analysis: StoredAnalysis | None) -> str:
        if self.failures:
            self.failures -= 1
            raise Unavailable("The model does not answer.")
        self.scores.append(analysis)
        return f"try {details.tries}"

    async def record(self, writing: Connection, details: StageDetails, evaluation: str) -> str:
        await writing.execute(
            "INSERT INTO fact (name, value) VALUES ($1, $2)", details.id, evaluation
        )
        return evaluation


class BrokenStage(FinalizeStage):
    """Takes the place of the analysis, and never succeeds."""

    async def run(self, details: StageDetails, on_part: OnCase) -> None:
        raise RuntimeError("the analyser's output can't be understood")


def executor_of(
    pool: Pool, stage: Stage[StageDetails, Any], max_tries: int = 6
) -> JobExecutor[StageDetails, Any]:
    return JobExecutor(
        pool=pool,
        stage=stage,
        running_jobs=RunningJobs(pool, WorkerId(new_id(WORKER))),
        caps=Caps(),
        languages=None,
        lease_s=15,
        max_tries=max_tries,
    )


async def judge(pool: Pool, directory: Path) -> SubmissionId:
    details = await start_submission(pool, await make_submission(pool))
    await settle(pool, make_artifacts(directory), details, judged(), stages=ALL)
    return details.id


async def state_of(pool: Pool, submission: SubmissionId) -> tuple[State, Verdict | None]:
    async with connection(pool) as acquired:
        found = await submissions.get(acquired, submission)
    assert found is not None
    return found.state, found.verdict


async def test_s5_whatever_fails_after_a_verdict_the_submission_ends_with_it(
    pool: Pool, tmp_path: Path
) -> None:
    """S5, Q3, Q7: each stage that failed has a dead letter."""
    submission = await judge(pool, tmp_path)
    evaluating = EvaluateStage(pool, NotingEvaluator(failures=1))
    for stage in (BrokenStage(pool, Task.ANALYZE), evaluating, BrokenStage(pool)):
        await executor_of(pool, stage, max_tries=1).run(submission, lambda _lease_s: None)
    assert await state_of(pool, submission) == (State.COMPLETED, Verdict.ACCEPTED)
    async with connection(pool) as acquired:
        letters = await dead_letters.page(acquired)
    assert [letter.task for letter in letters] == [Task.FINALIZE, Task.EVALUATE, Task.ANALYZE]


async def test_an_evaluation_is_retried_and_recorded_once_with_the_end_of_its_stage(
    pool: Pool, tmp_path: Path
) -> None:
    """P1, I3: the evaluator gets the analysis of the stage before."""
    submission = await judge(pool, tmp_path)
    async with transaction(pool) as writing:
        await analyses.record(writing, submission, 1, RECORD)
    evaluator = NotingEvaluator(failures=2)
    for stage, times in (
        (BrokenStage(pool, Task.ANALYZE), 1),
        (EvaluateStage(pool, evaluator), 3),
        (FinalizeStage(pool), 1),
    ):
        tries = 1 if isinstance(stage, BrokenStage) else 6
        for _ in range(times):
            async with asyncio.timeout(60):
                await executor_of(pool, stage, tries).run(submission, lambda _lease_s: None)
    assert await state_of(pool, submission) == (State.COMPLETED, Verdict.ACCEPTED)
    assert [each.scores if each else None for each in evaluator.scores] == [{"style": 70}]
    async with connection(pool) as acquired:
        noted = await acquired.fetchval("SELECT value FROM fact WHERE name = $1", submission)
        retries = await acquired.fetchval(
            "SELECT count(*) FROM work_event WHERE event = 'stage_retry'"
        )
    assert (noted, retries) == ("try 3", 2)
