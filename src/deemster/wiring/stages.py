"""Assembles what a worker does after verdicts: the handlers of the stages' jobs."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from deemster.domain.job import STAGES, QueueName, StagePolicy, Task
from deemster.domain.language import Catalogue
from deemster.pipeline.queue.fetcher import DeliveredJob, Done, Handler, RetryLater
from deemster.pipeline.verdict.attempt import Caps
from deemster.pipeline.work.analyze_program import ProgramAnalyzer
from deemster.pipeline.work.analyze_stage import (
    AnalyzeStage,
    RequestedAnalysisStage,
    SubmissionAnalyzer,
)
from deemster.pipeline.work.evaluate_stage import EvaluateStage
from deemster.pipeline.work.finalize_stage import FinalizeStage
from deemster.pipeline.work.heartbeat import Heartbeat
from deemster.pipeline.work.job_executor import JobExecutor, Stage
from deemster.pipeline.work.rubric_evaluator import RubricEvaluator
from deemster.problems.distribution import RevisionDistributor
from deemster.settings import Settings
from deemster.store.artifacts import Artifacts
from deemster.store.notifications import Notifier
from deemster.store.pool import Pool
from deemster.wiring.analyzing import AnalysisOnDemand, OpenAnalysis
from deemster.wiring.evaluating import open_evaluation


def stage_policy(settings: Settings) -> StagePolicy:
    return StagePolicy(
        default=frozenset(Task(f"submission:{name}") for name in settings.stages),
        available=frozenset(STAGES),
    )


@dataclass(frozen=True, slots=True)
class StageParts:
    """The parts of a worker that the stages share with judging."""

    pool: Pool
    artifacts: Artifacts
    catalogue: Catalogue
    distributor: RevisionDistributor
    heartbeat: Heartbeat
    notifier: Notifier


@asynccontextmanager
async def open_stage_handlers(
    settings: Settings,
    parts: StageParts,
    open_analysis: OpenAnalysis,
) -> AsyncIterator[Mapping[QueueName, Handler]]:
    pool = parts.pool

    def handler_of(stage: Stage[Any, Any]) -> Handler:
        return JobExecutor(
            pool=pool,
            stage=stage,
            running_jobs=parts.heartbeat.running_jobs,
            caps=Caps(),
            languages=None,
            lease_s=settings.lease_s,
            max_tries=1 + settings.stage_retries,
            # Nobody waits for a stage to start, and its end can wait for a verdict's NOTIFY.
            on_end=parts.notifier.notify_later,
        ).handle

    async with (
        AnalysisOnDemand.open(open_analysis) as analysis,
        open_evaluation(settings, pool, parts.catalogue) as evaluation,
    ):
        analyzer = ProgramAnalyzer(parts.catalogue, parts.distributor.opened, analysis.analyze)
        submissions = SubmissionAnalyzer(pool, parts.artifacts, analyzer)
        low = {
            Task.ANALYZE: handler_of(AnalyzeStage(pool, submissions)),
            Task.ANALYZE_LATER: handler_of(RequestedAnalysisStage(pool, submissions)),
            Task.FINALIZE: handler_of(FinalizeStage(pool)),
        }
        evaluator = RubricEvaluator(
            pool, parts.artifacts, evaluation, max_tries=1 + settings.stage_retries
        )
        yield {
            QueueName.LOW: by_task(low),
            QueueName.CRITICAL: handler_of(EvaluateStage(pool, evaluator)),
        }


def by_task(handlers: Mapping[Task, Handler]) -> Handler:
    async def handle(delivered: DeliveredJob) -> Done | RetryLater:
        return await handlers[delivered.job.task](delivered)

    return handle
