"""Takes a problem's package in: test data to the shelf, what is told of it to the database."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from deemster.domain.errors import Conflict, LimitReached, NotFound, Refused
from deemster.domain.ids import ProblemId, problem_id_from_name
from deemster.domain.problem import Problem
from deemster.problems.distribution import RevisionDistributor
from deemster.problems.revision import Revision, RevisionStore
from deemster.problems.summary import sheet_of
from deemster.store import audit, problems
from deemster.store.audit import Actor
from deemster.store.pool import Connection, Pool, connection, transaction
from deemster.store.problems import ProblemOwnership, ProblemSummary

ANSWERS_MS: Final = 60_000
"""Where answers are handed in, nothing of a contestant runs: a limit there holds nobody up."""
MOST_ARRIVING: Final = 2
"""Packages that come over the network at once: each may take as much disk as one may hold."""
BUSY_S: Final = 10.0
UNNAMED: Final = "package"
"""What an archive that came without a name is called."""


class NotYours(Conflict):
    """A problem of that id is another's."""

    code: ClassVar[str] = "not_yours"


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """Who wants a package taken in, and as what."""

    actor: Actor
    """Owns the problem, if it is a new one."""
    problem: ProblemId | None = None
    """None: the package's own name gives it."""
    only_own: bool = False
    """As authors may; admins change all."""


@dataclass(frozen=True, slots=True)
class Imported:
    sheet: ProblemSummary
    """As it is in force now."""
    is_new: bool
    """It was not in force before."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ready:
    """A package whose test data lies on the shelf: all but its row."""

    sheet: ProblemSummary
    order: ImportRequest
    warnings: tuple[str, ...]


class Importer:
    def __init__(
        self, pool: Pool, revisions: RevisionStore, shelf: RevisionDistributor
    ) -> None:
        self._pool = pool
        self._revisions = revisions
        self._shelf = shelf
        self._arriving = 0

    @asynccontextmanager
    async def arriving(self) -> AsyncIterator[Path]:
        """A directory for a package on its way here; it is removed, whatever happens."""
        if self._arriving >= MOST_ARRIVING:
            raise LimitReached(
                "Other packages are just being taken in: try again soon.", BUSY_S
            )
        self._arriving += 1
        try:
            async with self._revisions.place() as path:
                yield path
        finally:
            self._arriving -= 1

    async def check(
        self, problem: ProblemId, actor: Actor, *, only_own: bool
    ) -> ProblemOwnership:
        """What is there may be changed; else it is as if it were not there."""
        async with connection(self._pool) as acquired:
            found = await problems.get_ownership(acquired, problem)
        if found is None or (only_own and found.owner != actor.account):
            raise NotFound(f"There is no problem {problem}, or it is not yours.")
        return found

    async def take(self, path: Path, order: ImportRequest) -> Imported:
        async with self.readied(path, order) as ready, transaction(self._pool) as acquired:
            return await put_in_force(acquired, ready)

    @asynccontextmanager
    async def readied(self, path: Path, order: ImportRequest) -> AsyncIterator[Ready]:
        """A package that says its time limit; to find one, its programs would have to run."""
        async with self._revisions.imported(path) as revision:
            limit_ms = limit_of(revision.problem)
            if limit_ms is None:
                raise Refused(
                    "The package has no time limit, and here none is found by running its "
                    "submissions: set one in the package, or use `deemster problem import`."
                )
            if order.problem is None and revision.problem.slug == UNNAMED:
                raise Refused(
                    "The package has no name: say which problem it is with ?id=prob_…, or "
                    "pack its files in one directory of that name."
                )
            yield await self._ready(revision, order, limit_ms)

    async def keep(self, revision: Revision, order: ImportRequest, time_ms: int) -> Imported:
        ready = await self._ready(revision, order, time_ms)
        async with transaction(self._pool) as acquired:
            return await put_in_force(acquired, ready)

    async def _ready(self, revision: Revision, order: ImportRequest, time_ms: int) -> Ready:
        problem = order.problem or problem_id_from_name(revision.problem.slug)
        async with connection(self._pool) as acquired:
            refuse_foreign(await problems.get_ownership(acquired, problem), problem, order)
        # Before the row: no worker may be sent for what isn't there.
        await self._shelf.publish(revision)
        sheet = await asyncio.to_thread(sheet_of, revision, problem, time_ms=time_ms)
        return Ready(sheet, order, revision.problem.warnings)

    async def retire(self, problem: ProblemId, actor: Actor, *, only_own: bool) -> bool:
        """Whether it was not retired before; what was handed in for it stays readable."""
        await self.check(problem, actor, only_own=only_own)
        async with transaction(self._pool) as acquired:
            retired = await problems.retire(acquired, problem)
            if retired:
                await audit.record(acquired, actor, "problem.retire", problem)
        return retired


async def put_in_force(acquired: Connection, ready: Ready) -> Imported:
    """What is handed in from now on is judged by it."""
    is_new = await put(acquired, ready.sheet, ready.order)
    kept = await problems.get(acquired, ready.sheet.id)
    assert kept is not None, "it was put in force just now"
    return Imported(kept, is_new, ready.warnings)


async def put(acquired: Connection, sheet: ProblemSummary, order: ImportRequest) -> bool:
    """Whether that changes anything: the same package again is the same revision (I1)."""
    fresh = await problems.claim(acquired, sheet.id, sheet.digest, order.actor.account)
    found = await problems.lock_ownership(acquired, sheet.id)
    assert found is not None, "problems are retired, never removed"
    if not fresh:
        refuse_foreign(found, sheet.id, order)
        if found.revision == sheet.digest and not found.retired:
            return False
    await problems.publish(acquired, sheet, by=order.actor.account)
    await audit.record(
        acquired, order.actor, "problem.import", sheet.id, digest=sheet.digest, first=fresh
    )
    return True


def refuse_foreign(
    found: ProblemOwnership | None, problem: ProblemId, order: ImportRequest
) -> None:
    if order.only_own and found is not None and found.owner != order.actor.account:
        raise NotYours(
            f"There is a problem {problem} already, and it is not yours: choose another id "
            "with ?id=prob_…."
        )


def limit_of(problem: Problem) -> int | None:
    """In milliseconds; None: the package leaves it open."""
    return ANSWERS_MS if problem.submit_answer else problem.limits.time_ms
