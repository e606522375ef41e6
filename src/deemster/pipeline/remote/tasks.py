"""Makes the message with a task for a judge host: what the host needs, and nothing else."""

from dataclasses import dataclass
from typing import Final

from deemster.domain.errors import LostRace
from deemster.domain.execution import ExecutionDetails, ProgramIo
from deemster.domain.ids import ExecutionId, RevisionDigest, SubmissionId, kind_of
from deemster.domain.job import Task
from deemster.domain.limits import ANALYSIS_S, OVERHEAD_S
from deemster.domain.stage import StageDetails
from deemster.domain.stored_analysis import RequestedAnalysis
from deemster.domain.submission import SubmissionDetails
from deemster.domain.work import WorkDetails
from deemster.pipeline.remote.data_links import DataLinks
from deemster.pipeline.remote.messages import (
    ExecutePart,
    HostTask,
    JudgePart,
    ProblemData,
    TaskKind,
)
from deemster.store import analyses, executions
from deemster.store.artifacts import Artifacts
from deemster.store.inline_artifacts import fetch
from deemster.store.pool import Connection
from deemster.store.remote_tasks import RemoteTask
from deemster.store.stages import stage_details
from deemster.store.submissions import submission_details

KINDS: Final = {
    Task.RUN: TaskKind.JUDGE,
    Task.EXECUTE: TaskKind.EXECUTE,
    Task.ANALYZE: TaskKind.ANALYZE,
    Task.ANALYZE_LATER: TaskKind.ANALYZE,
}


async def read_details(
    connection: Connection, task: Task, work: str
) -> SubmissionDetails | ExecutionDetails | StageDetails | RequestedAnalysis | None:
    """What a worker would read to start the task. None: it is over, or the work is deleted."""
    match task:
        case Task.RUN:
            return await submission_details(connection, SubmissionId(work))
        case Task.EXECUTE:
            return await executions.details(connection, ExecutionId(work))
        case Task.ANALYZE:
            details = await stage_details(connection, SubmissionId(work))
            return details if details is not None and details.task is task else None
        case _:
            return await analyses.request_details(connection, SubmissionId(work))


def can_be_remote(details: WorkDetails) -> bool:
    """Programs whose input is typed stay on local workers."""
    return not isinstance(details, ExecutionDetails) or details.io is ProgramIo.BATCH


def revision_of(details: WorkDetails) -> RevisionDigest | None:
    match details:
        case SubmissionDetails() | StageDetails() | RequestedAnalysis():
            return details.revision
    return None


@dataclass(frozen=True, slots=True)
class TaskBuilder:
    artifacts: Artifacts
    links: DataLinks
    scale_times: bool = False
    """Whether time limits grow on hosts that are slower than the reference."""

    async def build(
        self, connection: Connection, remote: RemoteTask, speed: float | None
    ) -> HostTask:
        """Raises LostRace if the work has moved on meanwhile."""
        details = await read_details(connection, remote.task, remote.work)
        if details is None or details.attempt != remote.attempt:
            raise LostRace(f"{remote.work} was changed since attempt {remote.attempt}.")
        revision = revision_of(details)
        factor = 1 / speed if self.scale_times and speed else 1.0
        return HostTask(
            judge_id=remote.judge_id,
            work=remote.work,
            kind=KINDS[remote.task],
            attempt=remote.attempt,
            language=details.language,
            main=details.main,
            files=await self._files(connection, details),
            deadline_s=deadline_s(details, factor),
            judge=judge_part(details, factor),
            execute=execute_part(details),
            data=ProblemData(
                digest=revision, path=self.links.link(remote.host, remote.judge_id, revision)
            )
            if revision is not None
            else None,
        )

    async def _files(
        self,
        connection: Connection,
        details: SubmissionDetails | ExecutionDetails | StageDetails | RequestedAnalysis,
    ) -> bytes:
        if isinstance(details, ExecutionDetails):
            return details.files
        if isinstance(details, RequestedAnalysis) and details.files is not None:
            return details.files
        source = details.source
        assert source is not None, f"{kind_of(details.id)} without a source"
        return await fetch(connection, self.artifacts, source)


def judge_part(details: WorkDetails, factor: float) -> JudgePart | None:
    if not isinstance(details, SubmissionDetails):
        return None
    return JudgePart(time_ms=details.time_ms, time_factor=factor, cases=details.cases)


def execute_part(details: WorkDetails) -> ExecutePart | None:
    if not isinstance(details, ExecutionDetails):
        return None
    return ExecutePart(
        stdin=details.stdin,
        args=list(details.args),
        limits=details.limits,
        options=details.options,
    )


def deadline_s(details: WorkDetails, factor: float) -> float:
    match details:
        case SubmissionDetails():
            return details.deadline_s(factor)
        case ExecutionDetails():
            return details.deadline_s()
    return ANALYSIS_S + OVERHEAD_S
