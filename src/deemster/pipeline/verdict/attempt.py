"""Starts an attempt on one worker (Q9); records its result in one transaction (I3, J12)."""

import json
from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import structlog

from deemster.domain.errors import LostRace
from deemster.domain.execution import ExecutionDetails, ExecutionResult, OutputChunk
from deemster.domain.ids import SubmissionId, WorkId, kind_of
from deemster.domain.job import NO_STAGES, StagePolicy, Task
from deemster.domain.job_events import events_of, stage_of
from deemster.domain.judgement import JuryJudgement, JuryText, for_contestant
from deemster.domain.lifecycle import Event, State
from deemster.domain.stage import StageDetails
from deemster.domain.storable_text import storable
from deemster.domain.stored_analysis import AnalysisRecord, RequestedAnalysis
from deemster.domain.submission import SubmissionDetails
from deemster.domain.verdict import Verdict
from deemster.domain.work import WorkDetails
from deemster.pipeline.verdict.follow_up import end_stage, enter_stage
from deemster.store import (
    analyses,
    counters,
    executions,
    leases,
    submission_inserts,
    workers,
)
from deemster.store.artifacts import Artifacts
from deemster.store.inline_artifacts import PendingArtifact, prepare
from deemster.store.lifecycle import NewLease, StateChanged, advance, advance_all, lock_state
from deemster.store.pool import (
    AlsoWrite,
    Connection,
    Pool,
    transaction,
    write_nothing,
)
from deemster.store.stages import count_scores
from deemster.store.submissions import JudgementRecord, record_judgement
from deemster.telemetry import id_field

log = structlog.get_logger()
D = TypeVar("D", bound=WorkDetails)


@dataclass(frozen=True, slots=True)
class Caps:
    """Most jobs that may run at once; None means no cap."""

    everywhere: int | None = None
    per_account: int | None = None
    by_language: Mapping[str, int] = field(default_factory=dict)

    def touches(self, language: str) -> bool:
        some = self.everywhere is not None or self.per_account is not None
        return some or language in self.by_language


class Full(LostRace):
    """The job cannot start on this worker now, and has to come again later."""

    code: ClassVar[str] = "full"


async def find_startable(
    acquired: Connection,
    work: WorkId,
    *,
    task: Task,
    read: Callable[[Connection, WorkId], Awaitable[D | None]],
    languages: Container[str] | None,
) -> D:
    """Reads what a worker may start, if it has the language."""
    found = await read(acquired, work)
    if found is None:
        raise StateChanged(f"There is no {kind_of(work)} {work}.")
    if found.task is not task or not (found.state is State.PENDING or found.is_startable):
        raise StateChanged(f"{work} is {found.state}: there is nothing to start.")
    if (
        languages is not None
        and found.language not in languages
        and await other_worker_has(acquired, found.language)
    ):
        raise Full(f"{work} has to wait for a worker that has {found.language}.")
    return found


async def start_found(acquired: Connection, found: D, lease: NewLease, *, caps: Caps) -> D:
    """Starts it, if nobody has changed it since it was read, within the caps."""
    work, started, stage = found.id, events_of(found.task).start, stage_of(found.task)
    is_pending = found.state is State.PENDING
    if not is_pending and not caps.touches(found.language):
        await advance(acquired, started, work, found.attempt, in_stage=stage, lease=lease)
    else:
        async with acquired.transaction():
            if is_pending:
                # The relay has sent this job but has not marked it as sent yet.
                await advance_all(acquired, Event.PUBLISH, {work: found.attempt})
            if caps.touches(found.language):
                await check_caps(caps, acquired, found)
            await advance(acquired, started, work, found.attempt, in_stage=stage, lease=lease)
    return found.started()


async def other_worker_has(connection: Connection, language: str) -> bool:
    """If no worker has the language, the job is started anyway and fails with the reason."""
    return any(language in worker.languages for worker in await workers.list_alive(connection))


async def check_caps(caps: Caps, connection: Connection, found: WorkDetails) -> None:
    running = await leases.count_running(connection, found.id, found.language, found.account)
    of_language = caps.by_language.get(found.language)
    if (
        (caps.everywhere is not None and running.total >= caps.everywhere)
        or (caps.per_account is not None and running.of_account >= caps.per_account)
        or (of_language is not None and running.of_language >= of_language)
    ):
        raise Full(f"{found.id} has to wait: the concurrency cap is reached.")


async def settle_execution(
    pool: Pool,
    details: ExecutionDetails,
    result: ExecutionResult,
    output: Sequence[OutputChunk],
    also: AlsoWrite = write_nothing,
) -> None:
    """Also stores output that was not stored while the program ran.

    Raises StateChanged, and writes nothing, if this attempt is no longer the current one.
    """
    async with transaction(pool) as connection:
        # Locks the row of work first, as deleting does: otherwise both could wait for ever.
        await advance(connection, Event.COMPLETE, details.id, details.attempt)
        await executions.record_result(connection, details.id, details.attempt, result, output)
        await also(connection)


async def settle(
    pool: Pool,
    artifacts: Artifacts,
    details: SubmissionDetails,
    judgement: JuryJudgement,
    *,
    show_groups: bool = True,
    stages: StagePolicy = NO_STAGES,
    also: AlsoWrite = write_nothing,
) -> None:
    """Raises StateChanged, and writes nothing, if this attempt is no longer the current one.

    No stages follow the verdict of a trial of a rejudging or of an example of a package.
    """
    document = json.dumps(jury_document(judgement)).encode()
    kept = await prepare(artifacts, document)
    found = finding(judgement, kept, show_groups=show_groups)
    async with transaction(pool) as connection:
        wanted = await record_judgement(connection, details.id, details.attempt, found)
        follow_up = () if details.staged else stages.follow_up(wanted)
        await enter_stage(connection, details.id, details.attempt, follow_up)
        if found.verdict is Verdict.COMPILE_ERROR:
            await submission_inserts.forget_interval(connection, details.id)
        if not details.staged:
            await counters.count_verdict(
                connection, details.account, details.problem, found.verdict
            )
            if found.verdict is Verdict.JUDGE_ERROR:
                await counters.count_judge_error(connection, judgement.cause)
        await also(connection)
    if found.verdict is Verdict.JUDGE_ERROR:
        log_judge_error(details, judgement)


def log_judge_error(details: SubmissionDetails, judgement: JuryJudgement) -> None:
    """The jury's texts may contain hidden test data, which must not be in the log (A11)."""
    failed = judgement.failed_case
    log.error(
        "submission.judge_error",
        **id_field(details.id),
        problemId=details.problem,
        revision=details.revision,
        reason=judgement.cause,
        case=failed.number if failed else None,
        juryProgramEnded=failed.jury_status if failed else None,
        see=f"deemster submission show {details.id}",
    )


async def settle_analysis(
    pool: Pool, details: StageDetails, record: AnalysisRecord, also: AlsoWrite = write_nothing
) -> None:
    """Ends the analysis of a submission, and begins the stage that follows."""
    async with transaction(pool) as writing:
        await end_stage(writing, details)
        await analyses.record(writing, details.id, details.attempt, record)
        await also(writing)


async def settle_requested_analysis(
    pool: Pool,
    details: RequestedAnalysis,
    record: AnalysisRecord,
    also: AlsoWrite = write_nothing,
) -> None:
    async with transaction(pool) as writing:
        await advance(writing, Event.COMPLETE, details.id, details.attempt)
        # Before its analysis, as all transactions lock them: two could wait for ever.
        await lock_state(writing, details.subject)
        await analyses.record(writing, details.subject, details.attempt, record)
        if kind_of(details.subject) == "submission":
            await count_scores(writing, SubmissionId(details.subject))
        await also(writing)


def finding(
    judgement: JuryJudgement, jury: PendingArtifact, *, show_groups: bool
) -> JudgementRecord:
    shown = for_contestant(judgement, show_groups=show_groups)
    return JudgementRecord(
        verdict=shown.verdict,
        runtime_ms=shown.runtime_ms,
        memory_kb=shown.memory_kb,
        passed_cases=shown.passed_cases,
        total_cases=shown.total_cases,
        score=shown.score,
        max_score=shown.max_score,
        contestant=document(shown),
        jury=jury,
    )


def jury_document(judgement: JuryJudgement) -> Any:
    """The full judgement, for the jury only; it is stored as an artifact, never in a row."""
    return document(judgement)


def document(value: Any) -> Any:
    """The value as JSON, with texts that can be stored."""
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, JuryText):
        return storable(value.reveal())
    if isinstance(value, list | tuple):
        return [document(each) for each in value]
    # A judgement has many cases, and `dataclasses.fields` takes longer.
    return {name: document(getattr(value, name)) for name in value.__dataclass_fields__}
