"""Begins a run: exactly one worker gets it, and no cap is passed (Q9)."""

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from deemster.domain.errors import LostRace
from deemster.domain.ids import SubmissionId, WorkerId
from deemster.domain.lifecycle import Event, State
from deemster.domain.submission import JobDetails
from deemster.store import leases, workers
from deemster.store.lifecycle import MovedOn, advance, advance_all
from deemster.store.pool import Connection, Pool, transaction
from deemster.store.submissions import brief


@dataclass(frozen=True, slots=True)
class Caps:
    everywhere: int | None = None
    per_account: int | None = None
    by_language: Mapping[str, int] = field(default_factory=dict)

    def touches(self, language: str) -> bool:
        some = self.everywhere is not None or self.per_account is not None
        return some or language in self.by_language


class Full(LostRace):
    """Not here, or not now: its turn comes later."""

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
    """The submission, from now on this worker's; a LostRace says that it is not."""
    async with transaction(pool) as connection:
        found = await brief(connection, submission)
        if found is None:
            raise MovedOn(f"There is no submission {submission}.")
        if found.state is State.PENDING:
            # The relay that sent this job has not said so yet, or says so just now: either way
            # it was sent, and the next step decides.
            await advance_all(connection, Event.PUBLISH, {submission: found.attempt})
        elif found.state is not State.QUEUED:
            raise MovedOn(f"{submission} is {found.state}: nothing to start.")
        if found.language not in languages and await someone_can(connection, found.language):
            raise Full(f"{submission} has to wait for a worker that has {found.language}.")
        if caps.touches(found.language):
            await keep_to(caps, connection, found)
        step = await advance(connection, Event.START, submission, found.attempt)
        await leases.take(connection, submission, step.attempt, worker, lease_s)
    return replace(found, state=State.RUNNING, attempt=step.attempt)


async def someone_can(connection: Connection, language: str) -> bool:
    """If nobody can, it is begun all the same, and fails with the reason."""
    return any(language in worker.languages for worker in await workers.alive(connection))


async def keep_to(caps: Caps, connection: Connection, found: JobDetails) -> None:
    running = await leases.running(connection, found.language, found.account)
    of_language = caps.by_language.get(found.language)
    if (
        (caps.everywhere is not None and running.everything >= caps.everywhere)
        or (caps.per_account is not None and running.of_account >= caps.per_account)
        or (of_language is not None and running.of_language >= of_language)
    ):
        raise Full(f"{found.id} has to wait: as many run as may.")
