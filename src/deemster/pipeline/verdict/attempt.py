"""Starts an attempt on one worker (Q9); records its verdict in one transaction (I3, J12)."""

import dataclasses
import json
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from deemster.domain.errors import LostRace
from deemster.domain.ids import SubmissionId, WorkerId
from deemster.domain.judgement import JuryJudgement, JuryText, for_contestant
from deemster.domain.lifecycle import Event, State
from deemster.domain.submission import JobDetails
from deemster.store import counters, leases, workers
from deemster.store.artifacts import Artifacts
from deemster.store.inline_artifacts import prepare
from deemster.store.lifecycle import StateChanged, advance, advance_all
from deemster.store.pool import Connection, Pool, transaction
from deemster.store.submissions import JudgementRecord, job_details, record_judgement


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


async def start(
    pool: Pool,
    submission: SubmissionId,
    worker: WorkerId,
    *,
    lease_s: float,
    caps: Caps,
    languages: Container[str],
) -> JobDetails:
    """Gives the submission to this worker; raises LostRace if it did not get it."""
    async with transaction(pool) as connection:
        found = await job_details(connection, submission)
        if found is None:
            raise StateChanged(f"There is no submission {submission}.")
        if found.state is State.PENDING:
            # The relay has sent this job but has not marked it as sent yet.
            await advance_all(connection, Event.PUBLISH, {submission: found.attempt})
        elif found.state is not State.QUEUED:
            raise StateChanged(f"{submission} is {found.state}: there is nothing to start.")
        if found.language not in languages and await other_worker_has(
            connection, found.language
        ):
            raise Full(f"{submission} has to wait for a worker that has {found.language}.")
        if caps.touches(found.language):
            await check_caps(caps, connection, found)
        step = await advance(connection, Event.START, submission, found.attempt)
        await leases.take(connection, submission, step.attempt, worker, lease_s)
    return replace(found, state=State.RUNNING, attempt=step.attempt)


async def other_worker_has(connection: Connection, language: str) -> bool:
    """If no worker has the language, the job is started anyway and fails with the reason."""
    return any(language in worker.languages for worker in await workers.list_alive(connection))


async def check_caps(caps: Caps, connection: Connection, found: JobDetails) -> None:
    running = await leases.count_running(connection, found.language, found.account)
    of_language = caps.by_language.get(found.language)
    if (
        (caps.everywhere is not None and running.total >= caps.everywhere)
        or (caps.per_account is not None and running.of_account >= caps.per_account)
        or (of_language is not None and running.of_language >= of_language)
    ):
        raise Full(f"{found.id} has to wait: the concurrency cap is reached.")


async def settle(
    pool: Pool,
    artifacts: Artifacts,
    details: JobDetails,
    judgement: JuryJudgement,
    *,
    show_groups: bool = True,
) -> None:
    """Raises MovedOn, and writes nothing, if this attempt is no longer the current one."""
    document = json.dumps(jury_document(judgement)).encode()
    kept = await prepare(artifacts, document)
    found = finding(judgement, kept.digest, show_groups=show_groups)
    async with transaction(pool) as connection:
        await kept.write(connection)
        await record_judgement(connection, details.id, details.attempt, found)
        await advance(connection, Event.COMPLETE, details.id, details.attempt)
        await leases.release(connection, details.id)
        if not details.staged:
            await counters.count_verdict(
                connection, details.account, details.problem, found.verdict
            )


def finding(judgement: JuryJudgement, jury: str, *, show_groups: bool) -> JudgementRecord:
    shown = for_contestant(judgement, show_groups=show_groups)
    return JudgementRecord(
        verdict=shown.verdict,
        runtime_ms=shown.runtime_ms,
        memory_kb=shown.memory_kb,
        passed_cases=shown.passed_cases,
        total_cases=shown.total_cases,
        score=shown.score,
        max_score=shown.max_score,
        contestant=without_nul(dataclasses.asdict(shown)),
        jury=jury,
    )


def jury_document(judgement: JuryJudgement) -> Any:
    """The full judgement, for the jury only; it is stored as an artifact, never in a row."""
    return without_nul(revealed(judgement))


def revealed(value: Any) -> Any:
    if isinstance(value, JuryText):
        return value.reveal()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {field.name: revealed(getattr(value, field.name)) for field in fields}
    if isinstance(value, list | tuple):
        return [revealed(each) for each in value]
    return value


def without_nul(value: Any) -> Any:
    """Replaces what Postgres cannot store in JSON: NUL and lone surrogates."""
    if isinstance(value, str):
        return (
            value.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()
        )
    if isinstance(value, dict):
        return {name: without_nul(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [without_nul(each) for each in value]
    return value
