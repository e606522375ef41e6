"""Imports a package: its revision into the artifact store, its summary into the database."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from deemster.domain.errors import Conflict, LimitReached, NotFound, Refused
from deemster.domain.ids import AccountId, ProblemId, problem_id_from_name
from deemster.domain.problem import Problem
from deemster.domain.problem_ceilings import ProblemCeilings
from deemster.problems.distribution import RevisionDistributor
from deemster.problems.revision import Revision, RevisionStore
from deemster.problems.summary import summary_of
from deemster.store import audit, problems
from deemster.store.artifacts.backend import ArtifactEntry
from deemster.store.audit import Actor
from deemster.store.pool import Connection, Pool, connection, transaction
from deemster.store.problems import ProblemOwnership, ProblemSummary

ANSWER_LIMIT_MS: Final = 60_000
"""Time limit of problems for which contestants submit outputs: no program of theirs runs."""
MAX_UPLOADS: Final = 6
"""Uploads at the same time: each may need as much disk space as a package may have."""
UPLOADS_PER_ACCOUNT: Final = 2
"""Of these, so that slow uploads of one author leave places for others."""
MAX_TASKS: Final = 8
"""Heng tasks with new data at the same time; slow servers may delay each of them."""
BUSY_S: Final = 10.0
UNNAMED: Final = "package"
"""Name of an archive that was uploaded without one."""


CheckPrograms = Callable[[Path, Problem], Awaitable[None]]
"""Refuses a package with jury programs that can't be run here, given its directory."""


class NotOwner(Conflict):
    """Another account owns the problem with this id."""

    code: ClassVar[str] = "not_yours"


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """Who imports a package, and under which id."""

    actor: Actor
    """Becomes the owner if the problem is new."""
    problem: ProblemId | None = None
    """None: the id is derived from the package's name."""
    only_own: bool = False
    """Authors may change only their own problems, admins all."""
    unlisted: bool = False
    """The problem holds the data of heng tasks, and nobody sees it."""
    publish: bool | None = None
    """False: only the owner and admins see the problem. None: new problems are published,
    others stay as they are.
    """


@dataclass(frozen=True, slots=True)
class Imported:
    summary: ProblemSummary
    """The revision that is in force now."""
    is_new: bool
    """Whether this import put it in force."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PreparedImport:
    """A package whose revision is uploaded; only its row is missing."""

    summary: ProblemSummary
    request: ImportRequest
    warnings: tuple[str, ...]


class Importer:
    def __init__(
        self,
        pool: Pool,
        revisions: RevisionStore,
        distributor: RevisionDistributor,
        ceilings: ProblemCeilings,
        check_programs: CheckPrograms,
    ) -> None:
        self._pool = pool
        self._revisions = revisions
        self._distributor = distributor
        self._ceilings = ceilings
        self._check_programs = check_programs
        self._uploads: Counter[AccountId] = Counter()
        self._tasks = asyncio.Semaphore(MAX_TASKS)

    @asynccontextmanager
    async def upload_directory(self, account: AccountId) -> AsyncIterator[Path]:
        """A temporary directory for a package that this account uploads."""
        if self._uploads[account] >= UPLOADS_PER_ACCOUNT:
            raise LimitReached(
                f"{UPLOADS_PER_ACCOUNT} packages of yours are being uploaded: try again when "
                "one has arrived.",
                BUSY_S,
            )
        if self._uploads.total() >= MAX_UPLOADS:
            raise LimitReached("Other packages are being uploaded: try again soon.", BUSY_S)
        self._uploads[account] += 1
        try:
            async with self._revisions.temporary_directory() as path:
                yield path
        finally:
            self._uploads[account] -= 1
            if not self._uploads[account]:
                del self._uploads[account]

    @asynccontextmanager
    async def task_directory(self) -> AsyncIterator[Path]:
        """A temporary directory for the data of a heng task, which waits for its turn."""
        async with self._tasks, self._revisions.temporary_directory() as path:
            yield path

    async def check(
        self, problem: ProblemId, actor: Actor, *, only_own: bool
    ) -> ProblemOwnership:
        """Finds a problem that the caller may change; for others it does not exist."""
        async with connection(self._pool) as acquired:
            found = await problems.get_ownership(acquired, problem)
        if found is None or (only_own and found.owner != actor.account):
            raise NotFound(f"There is no problem {problem}, or you don't own it.")
        return found

    async def import_package(self, path: Path, request: ImportRequest) -> Imported:
        async with (
            self.prepared_import(path, request) as prepared,
            transaction(self._pool) as acquired,
        ):
            return await put_in_force(acquired, prepared)

    @asynccontextmanager
    async def prepared_import(
        self, path: Path, request: ImportRequest
    ) -> AsyncIterator[PreparedImport]:
        """The package must have a time limit: to infer one, its programs would have to run."""
        async with self._revisions.imported(path) as revision:
            limit_ms = time_limit_ms(revision.problem)
            if limit_ms is None:
                raise Refused(
                    "The package has no time limit, and an upload does not infer one: set one "
                    "in the package, or use `deemster problem import`."
                )
            if request.problem is None and revision.problem.slug == UNNAMED:
                raise Refused(
                    "The package has no name: set the problem's id with ?id=prob_…, or pack "
                    "the files in a directory with that name."
                )
            yield await self._prepare(revision, request, limit_ms)

    async def import_revision(
        self, revision: Revision, request: ImportRequest, time_ms: int
    ) -> Imported:
        prepared = await self._prepare(revision, request, time_ms)
        async with transaction(self._pool) as acquired:
            return await put_in_force(acquired, prepared)

    async def _prepare(
        self, revision: Revision, request: ImportRequest, time_ms: int
    ) -> PreparedImport:
        if violations := list(self._ceilings.violations(revision.problem, time_ms)):
            raise Refused(" ".join(violations))
        await self._check_programs(revision.directory, revision.problem)
        problem = request.problem or problem_id_from_name(revision.problem.slug)
        async with connection(self._pool) as acquired:
            refuse_other_owner(
                await problems.get_ownership(acquired, problem), problem, request
            )
        # Before the row exists, because jobs for it need the revision.
        await self._distributor.publish(revision)
        summary = await asyncio.to_thread(summary_of, revision, problem, time_ms=time_ms)
        return PreparedImport(summary, request, revision.problem.warnings)

    async def publish(self, problem: ProblemId, actor: Actor, *, only_own: bool) -> bool:
        """Returns whether it was not published before."""
        await self.check(problem, actor, only_own=only_own)
        async with transaction(self._pool) as acquired:
            found = await problems.lock_ownership(acquired, problem)
            if found is None or found.published:
                return False
            await problems.set_published(acquired, problem, published=True)
            await audit.record(acquired, actor, "problem.publish", problem)
        return True

    async def find_package(
        self, problem: ProblemId, actor: Actor, *, only_own: bool
    ) -> ArtifactEntry:
        """The package of the revision in force, as a tar in the artifact store."""
        found = await self.check(problem, actor, only_own=only_own)
        return await self._distributor.find_package(found.revision)

    def opened(self, digest: str) -> AbstractAsyncContextManager[Revision]:
        """Holds a revision, which is fetched if it is not on this machine."""
        return self._distributor.opened(digest)

    def read_package(self, found: ArtifactEntry) -> AsyncIterator[bytes]:
        return self._distributor.read_package(found)

    async def retire(self, problem: ProblemId, actor: Actor, *, only_own: bool) -> bool:
        """Returns whether it was not retired before; its submissions stay readable."""
        await self.check(problem, actor, only_own=only_own)
        async with transaction(self._pool) as acquired:
            retired = await problems.retire(acquired, problem)
            if retired:
                await audit.record(acquired, actor, "problem.retire", problem)
        return retired


async def put_in_force(acquired: Connection, prepared: PreparedImport) -> Imported:
    """New submissions are judged with this revision from now on."""
    is_new = await put(acquired, prepared.summary, prepared.request)
    kept = await problems.get(acquired, prepared.summary.id)
    assert kept is not None, "it was put in force above"
    return Imported(kept, is_new, prepared.warnings)


async def put(acquired: Connection, summary: ProblemSummary, request: ImportRequest) -> bool:
    """Returns False if this revision is in force already (I1)."""
    fresh = await problems.claim(
        acquired,
        summary.id,
        summary.digest,
        request.actor.account,
        unlisted=request.unlisted,
        published=request.publish is not False,
    )
    found = await problems.lock_ownership(acquired, summary.id)
    assert found is not None, "problems are retired, never removed"
    if not fresh:
        refuse_other_owner(found, summary.id, request)
        if request.publish is False and found.published and not found.retired:
            raise Conflict(
                f"The problem {summary.id} is published, and a revision can't be hidden beside "
                "it: import it under another id to try it, or retire the problem first."
            )
        shown = found.published if request.publish is None else request.publish
        if shown != found.published:
            await problems.set_published(acquired, summary.id, published=shown)
        elif found.revision == summary.digest and not found.retired:
            return False
    await problems.publish(acquired, summary, by=request.actor.account)
    await audit.record(
        acquired,
        request.actor,
        "problem.import",
        summary.id,
        digest=summary.digest,
        first=fresh,
    )
    return True


def refuse_other_owner(
    found: ProblemOwnership | None, problem: ProblemId, request: ImportRequest
) -> None:
    if request.only_own and found is not None and found.owner != request.actor.account:
        raise NotOwner(
            f"Another user owns the problem {problem}: choose another id with ?id=prob_…."
        )


def time_limit_ms(problem: Problem) -> int | None:
    """None: the package has no time limit."""
    return ANSWER_LIMIT_MS if problem.submit_answer else problem.limits.time_ms
