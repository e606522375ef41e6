"""Settles the results of judge hosts, each once, however often it is delivered (M3)."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import structlog
from pydantic import ValidationError

from deemster.domain.errors import LostRace, Refused, Unavailable
from deemster.domain.execution import ExecutionDetails
from deemster.domain.job import NO_STAGES, StagePolicy
from deemster.domain.judge_host import Purpose
from deemster.domain.lifecycle import IN_STAGE, State
from deemster.domain.retry_policy import MaxTries
from deemster.domain.stage import StageDetails
from deemster.domain.stored_analysis import RequestedAnalysis
from deemster.domain.submission import SubmissionDetails
from deemster.domain.task_counts import RETRY
from deemster.domain.work import WorkDetails
from deemster.pattern_messages import fault_text
from deemster.pipeline.queue.fetcher import DeliveredJob, Done, RetryLater
from deemster.pipeline.remote.messages import Finish
from deemster.pipeline.remote.tasks import read_details
from deemster.pipeline.verdict.attempt import (
    settle,
    settle_analysis,
    settle_execution,
    settle_requested_analysis,
)
from deemster.pipeline.verdict.retry import retry_or_fail
from deemster.pipeline.work.job_metrics import count_verdict
from deemster.pipeline.work.judge_twice import (
    Agreement,
    DoubleJudging,
    pause_wrong_hosts,
)
from deemster.store import judge_hosts, remote_tasks
from deemster.store.artifacts import Artifacts
from deemster.store.pool import (
    UNSTORABLE,
    AlsoWrite,
    Connection,
    Pool,
    connection,
    transaction,
)
from deemster.store.remote_tasks import RemoteTask
from deemster.telemetry import id_field

log = structlog.get_logger()

AGAIN_S: Final = 0.5
WAITING_S: Final = 5.0
"""A result that has waited for so long is settled without its job, which the queue lost."""
BATCH: Final = 100
WAITS: Final = "waits for another host"
FAILED: Final = "failed"


class DropReason(StrEnum):
    """Why a result does not count; results are counted by these words."""

    SUPERSEDED = "superseded_judge_id"
    UNREADABLE = "unreadable_result"


class HostFailed(Unavailable):
    """A judge host could not do its task."""


class TaskRefused(Refused):
    """A judge host can't do the task, and no other could."""


@dataclass(frozen=True, slots=True)
class Receiver:
    pool: Pool
    artifacts: Artifacts
    max_tries: MaxTries
    double_judging: DoubleJudging
    stages: StagePolicy = NO_STAGES
    on_end: Callable[[], None] = lambda: None

    async def handle(self, delivered: DeliveredJob) -> Done | RetryLater:
        job = delivered.job
        structlog.contextvars.bind_contextvars(jobId=job.job_id)
        try:
            await self.receive(job.dispatch)
        except Unavailable as fault:
            log.warning("result.put_off", **id_field(job.work), error=str(fault))
            return RetryLater(AGAIN_S)
        return Done()

    async def receive_waiting(self) -> int:
        """Settles results whose jobs the queue lost, and those whose check was lost with its
        host; returns how many were settled or dropped.
        """
        async with connection(self.pool) as acquired:
            for work in await remote_tasks.end_silent_checks(acquired):
                log.warning("judge_twice.host_lost", **id_field(work))
            numbers = await remote_tasks.list_unsettled(
                acquired, older_than_s=WAITING_S, limit=BATCH
            )
        return sum([await self.receive(number) for number in numbers])

    async def receive(self, number: int) -> bool:
        """Settles the result of the task with this number, or drops it. False: that was done
        before, or the result waits for that of another host.
        """
        async with connection(self.pool) as acquired:
            found = await remote_tasks.find_result(acquired, number)
            if found is None:
                return False  # delivered twice
            task, body = found
            details = await read_details(acquired, task.task, task.work)
        try:
            finish = Finish.model_validate_json(body)
        except ValidationError as fault:
            log.warning(
                "result.unreadable", judgeId=task.judge_id, error=fault_text(fault.errors()[0])
            )
            return await self.drop(task, DropReason.UNREADABLE)
        if details is None or not is_awaited(task, details):
            return await self.drop(task, DropReason.SUPERSEDED)
        try:
            result = await self._settle(task, details, finish)
        except LostRace:
            return await self.drop(task, DropReason.SUPERSEDED)
        except UNSTORABLE as fault:
            log.warning("result.unreadable", judgeId=task.judge_id, error=type(fault).__name__)
            return await self.drop(task, DropReason.UNREADABLE)
        if result != WAITS:
            self.on_end()
        if result not in {WAITS, RETRY, FAILED}:
            count_verdict(details, result, details.age_s)
        log.info(
            "result.received",
            **id_field(task.work),
            judgeId=task.judge_id,
            hostId=task.host,
            attempt=task.attempt,
            result=result,
        )
        return result != WAITS

    async def drop(self, task: RemoteTask, reason: DropReason) -> bool:
        """Counts it once, in the transaction that ends the task. False: it was ended before."""
        async with transaction(self.pool) as writing:
            if is_first := await remote_tasks.end(writing, task.judge_id, None):
                await judge_hosts.count_refusal(writing, reason)
                log.warning(
                    "result.dropped",
                    **id_field(task.work),
                    judgeId=task.judge_id,
                    hostId=task.host,
                    reason=reason,
                )
        return is_first

    async def _settle(self, task: RemoteTask, details: WorkDetails, finish: Finish) -> str:
        """The task ends in the transaction that settles its result."""
        match details, finish:
            case SubmissionDetails(), _ if finish.judge or task.purpose is not Purpose.RUN:
                agreement = await self.double_judging.agree(task, details, finish)
                if agreement is None:
                    return WAITS
                if agreement.chosen.outcome is not None:
                    return await self._settle_submission(details, agreement)
            case ExecutionDetails(), Finish(execute=outcome) if outcome is not None:
                own = [each for each in outcome.output if each.attempt == task.attempt]
                await settle_execution(self.pool, details, outcome.result, own, ending(task))
                return str(outcome.result.status)
            case StageDetails(), Finish(analyze=record) if record is not None:
                await settle_analysis(self.pool, details, record, ending(task))
                return f"{record.findings} findings"
            case RequestedAnalysis(), Finish(analyze=record) if record is not None:
                await settle_requested_analysis(self.pool, details, record, ending(task))
                return f"{record.findings} findings"
        return await self._fail(task, details, finish)

    async def _settle_submission(self, details: SubmissionDetails, agreement: Agreement) -> str:
        outcome = agreement.chosen.outcome
        assert outcome is not None, "somebody judged it"

        async def end_all(writing: Connection) -> None:
            for each in agreement.results:
                verdict = each.verdict_and_score[0] if each.verdict_and_score else None
                await remote_tasks.end(writing, each.judge_id, verdict)
            await pause_wrong_hosts(writing, details.id, agreement)

        await settle(
            self.pool,
            self.artifacts,
            details,
            outcome.judgement,
            show_groups=outcome.show_groups,
            stages=self.stages,
            also=end_all,
        )
        return str(outcome.judgement.verdict)

    async def _fail(self, task: RemoteTask, details: WorkDetails, finish: Finish) -> str:
        failure = finish.failure
        error = failure.error if failure else "its result does not fit the task"
        kind = TaskRefused if failure is not None and failure.is_refusal else HostFailed
        again = await retry_or_fail(
            self.pool,
            details,
            kind(f"Judge host {task.host} failed: {error}"),
            max_tries=self.max_tries.of(task.task),
            also=ending(task),
        )
        return RETRY if again else FAILED


def is_awaited(task: RemoteTask, details: WorkDetails) -> bool:
    """Whether the attempt still runs: not if the work was cancelled, or given to others."""
    runs_in = IN_STAGE if isinstance(details, StageDetails) else {State.RUNNING}
    is_running = details.state in runs_in and details.task is task.task
    return is_running and details.attempt == task.attempt


def ending(task: RemoteTask) -> AlsoWrite:
    async def write(connection: Connection) -> None:
        await remote_tasks.end(connection, task.judge_id, None)

    return write
