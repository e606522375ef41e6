"""Problems and their revisions: a submission keeps the one in force when it came (J9)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deemster.domain.ids import AccountId, ProblemId, RevisionDigest
from deemster.store import installation
from deemster.store.pool import Connection
from deemster.store.queries import rows_changed, statements

SQL = statements("problems")
REVISION = "problems"
"""Counts the changes of any problem, for keys of caches (C1)."""


@dataclass(frozen=True, slots=True)
class ProblemSummary:
    """What is known of a problem without its package."""

    id: ProblemId
    digest: RevisionDigest
    title: str
    time_ms: int
    memory_bytes: int
    source_bytes: int
    cases: int
    languages: Sequence[str] | None
    """None: all."""
    details: Mapping[str, Any]
    """For reading: statements as HTML by language, samples, limits."""
    number: int = 0
    """Of the revision, from 1; given when it is kept."""
    retired: bool = False


@dataclass(frozen=True, slots=True)
class ProblemListItem:
    id: ProblemId
    title: str
    time_ms: int
    memory_bytes: int
    cases: int
    number: int
    submits: int
    accepted: int


async def publish(
    connection: Connection, sheet: ProblemSummary, *, by: AccountId | None = None
) -> None:
    """Keeps the revision and puts it in force."""
    await SQL.add_problem(connection, id=sheet.id, revision=sheet.digest)
    await SQL.lock_problem(connection, id=sheet.id)
    await SQL.add_revision(
        connection,
        id=sheet.id,
        digest=sheet.digest,
        title=sheet.title,
        time_ms=sheet.time_ms,
        memory_bytes=sheet.memory_bytes,
        source_bytes=sheet.source_bytes,
        cases=sheet.cases,
        languages=list(sheet.languages) if sheet.languages is not None else None,
        details=dict(sheet.details),
        imported_by=by,
    )
    await SQL.put_in_force(connection, id=sheet.id, digest=sheet.digest)
    await installation.bump_version(connection, REVISION)


async def retire(connection: Connection, problem: ProblemId) -> bool:
    """Whether it was there to be retired; its submissions stay readable."""
    if not rows_changed(await SQL.retire(connection, id=problem)):
        return False
    await installation.bump_version(connection, REVISION)
    return True


async def exists(connection: Connection, problem: ProblemId) -> bool:
    """Retired or not."""
    return bool(await SQL.exists(connection, id=problem))


async def version(connection: Connection) -> int:
    """How often problems were changed, whichever."""
    return await installation.version(connection, REVISION)


async def get(connection: Connection, problem: ProblemId) -> ProblemSummary | None:
    row = await SQL.get(connection, id=problem)
    if row is None:
        return None
    return ProblemSummary(
        id=ProblemId(row["id"]),
        digest=RevisionDigest(row["digest"]),
        title=row["title"],
        time_ms=row["time_ms"],
        memory_bytes=row["memory_bytes"],
        source_bytes=row["source_bytes"],
        cases=row["cases"],
        languages=row["languages"],
        details=row["details"],
        number=row["number"],
        retired=row["retired_at"] is not None,
    )


async def page(
    connection: Connection, *, after: ProblemId | None, limit: int
) -> list[ProblemListItem]:
    return [
        ProblemListItem(
            id=ProblemId(row["id"]),
            title=row["title"],
            time_ms=row["time_ms"],
            memory_bytes=row["memory_bytes"],
            cases=row["cases"],
            number=row["number"],
            submits=row["submits"],
            accepted=row["accepted"],
        )
        async for row in SQL.page(connection, after=after, limit=limit)
    ]


async def digests(connection: Connection) -> set[RevisionDigest]:
    return {RevisionDigest(row["digest"]) async for row in SQL.digests(connection)}
