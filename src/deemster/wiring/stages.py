"""Assembles what a worker does after verdicts: the handlers of the stages' jobs."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from deemster.domain.job import STAGES, QueueName, StagePolicy, Task
from deemster.domain.language import Catalogue
from deemster.pipeline.queue.fetcher import DeliveredJob, Done, Handler, RetryLater
from deemster.pipeline.verdict.attempt import Caps
from deemster.pipeline.work.analyze_stage import (
    AnalyzeStage,
    ProgramAnalyzer,
    RequestedAnalysisStage,
)
from deemster.pipeline.work.evaluate_stage import EvaluateStage, Evaluator
from deemster.pipeline.work.executor import JobExecutor, Stage
from deemster.pipeline.work.finalize_stage import FinalizeStage
from deemster.pipeline.work.heartbeat import Heartbeat
from deemster.problems.distribution import RevisionDistributor
from deemster.settings import Settings
from deemster.store.artifacts import Artifacts
from deemster.store.notifications import Notifier
from deemster.store.pool import Pool
from deemster.wiring.analyzing import AnalysisOnDemand, OpenAnalysis


def stage_policy(settings: Settings, evaluator: Evaluator[Any] | None) -> StagePolicy:
    return StagePolicy(
        default=frozenset(Task(f"submission:{name}") for name in settings.stages),
        available=frozenset(STAGES if evaluator is not None else [Task.ANALYZE]),
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
    evaluator: Evaluator[Any] | None = None,
) -> AsyncIterator[Mapping[QueueName, Handler]]:
    """Submissions are only evaluated if there is an evaluator."""
    pool = parts.pool

    def handler_of(stage: Stage[Any, Any]) -> Handler:
        return JobExecutor(
            pool=pool,
            stage=stage,
            running_jobs=parts.heartbeat.running_jobs,
            caps=Caps(),
            languages=None,
            lease_s=settings.lease_s,
            most_tries=1 + settings.stage_retries,
            on_start=parts.notifier.notify_soon,
            on_end=parts.notifier.notify,
        ).handle

    async with AnalysisOnDemand.open(open_analysis) as analysis:
        programs = ProgramAnalyzer(
            pool, parts.artifacts, parts.catalogue, parts.distributor, analysis.analyze
        )
        low = {
            Task.ANALYZE: handler_of(AnalyzeStage(pool, programs)),
            Task.ANALYZE_LATER: handler_of(RequestedAnalysisStage(pool, programs)),
            Task.FINALIZE: handler_of(FinalizeStage(pool)),
        }
        handlers = {QueueName.LOW: by_task(low)}
        if evaluator is not None:
            handlers[QueueName.CRITICAL] = handler_of(EvaluateStage(pool, evaluator))
        yield handlers


def by_task(handlers: Mapping[Task, Handler]) -> Handler:
    async def handle(delivered: DeliveredJob) -> Done | RetryLater:
        return await handlers[delivered.job.task](delivered)

    return handle
