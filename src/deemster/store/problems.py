"""Problems, their owners and their revisions; a submission keeps its revision (J9)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deemster.domain.account import Account, Role
from deemster.domain.ids import AccountId, ProblemId, RevisionDigest
from deemster.domain.job import Task
from deemster.domain.problem_listing import (
    Difficulty,
    Listing,
    ProblemResult,
    ProblemSort,
    listing_of,
)
from deemster.store import installation
from deemster.store.pool import Connection, rows_changed, statements

SQL = statements("problems")
VERSION = "problems"
"""Counts the changes of all problems together, for cache keys (C1)."""


@dataclass(frozen=True, slots=True)
class ProblemSummary:
    """What the database holds of a problem; the rest is in its package."""

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
    """For readers: statements as HTML by language, samples, limits."""
    number: int = 0
    """Number of the revision, from 1; `publish` assigns it."""
    retired: bool = False
    unlisted: bool = False
    """It holds the data of heng tasks: it is not shown, and takes no other submissions."""
    published: bool = True
    """False: only its owner and admins see it and submit to it."""
    owner: AccountId | None = None

    def is_open_to(self, account: Account) -> bool:
        """Whether the account sees the problem, if it is not retired."""
        return self.published or account.role is Role.ADMIN or account.id == self.owner

    @property
    def listing(self) -> Listing:
        names = self.details.get("names", {}).values()
        return listing_of(self.id, self.title, names, self.details.get("keywords", ()))


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
    tags: Sequence[str]
    level: int | None
    """Difficulty from 1 to 10; None: nobody gave one, and few submissions were judged."""
    level_given: bool
    """The author gave the difficulty; otherwise it comes from the acceptance rate."""
    result: ProblemResult
    """Best result of the account that asks."""


@dataclass(frozen=True, slots=True)
class ProblemFilter:
    words: str | None = None
    """A `tsquery`."""
    tags: Sequence[str] = ()
    """Only problems with all of these tags are listed."""
    difficulty: Difficulty | None = None
    result: ProblemResult | None = None
    drafts: bool = False
    """Lists the problems that are not published instead."""
    owner: AccountId | None = None
    sort: ProblemSort = ProblemSort.ID


@dataclass(frozen=True, slots=True)
class ProblemOwnership:
    owner: AccountId | None
    """The account that imported it first; None: a command did, so only admins change it."""
    revision: RevisionDigest
    retired: bool
    published: bool


async def claim(
    connection: Connection,
    problem: ProblemId,
    revision: RevisionDigest,
    owner: AccountId | None,
    *,
    unlisted: bool = False,
    published: bool = True,
) -> bool:
    """Returns True if the problem is new and now belongs to `owner`.

    Of two imports at the same time, the second waits here for the first one's transaction.
    """
    done = await SQL.claim(
        connection,
        id=problem,
        revision=revision,
        owner=owner,
        unlisted=unlisted,
        published=published,
    )
    return rows_changed(done) > 0


async def get_ownership(connection: Connection, problem: ProblemId) -> ProblemOwnership | None:
    return ownership_from_row(await SQL.get_ownership(connection, id=problem))


async def lock_ownership(connection: Connection, problem: ProblemId) -> ProblemOwnership | None:
    """The same; no other transaction changes the problem until this one ends."""
    return ownership_from_row(await SQL.lock_ownership(connection, id=problem))


async def publish(
    connection: Connection, summary: ProblemSummary, *, by: AccountId | None = None
) -> None:
    """Stores the revision; new submissions are judged by it."""
    await claim(connection, summary.id, summary.digest, None)
    await lock_ownership(connection, summary.id)
    await SQL.add_revision(
        connection,
        id=summary.id,
        digest=summary.digest,
        title=summary.title,
        time_ms=summary.time_ms,
        memory_bytes=summary.memory_bytes,
        source_bytes=summary.source_bytes,
        cases=summary.cases,
        languages=list(summary.languages) if summary.languages is not None else None,
        details=dict(summary.details),
        imported_by=by,
    )
    listing = summary.listing
    await SQL.set_revision(
        connection,
        id=summary.id,
        digest=summary.digest,
        sort_title=listing.sort_title,
        words=listing.words,
        tags=listing.tags,
        level=listing.level,
    )
    await installation.bump_version(connection, VERSION)


async def set_published(connection: Connection, problem: ProblemId, *, published: bool) -> None:
    await SQL.set_published(connection, id=problem, published=published)
    await installation.bump_version(connection, VERSION)


async def get_stages(connection: Connection, problem: ProblemId) -> frozenset[Task] | None:
    """The stages that follow a verdict; None: the problem does not decide that."""
    found = await SQL.get_stages(connection, id=problem)
    return frozenset(map(Task, found)) if found is not None else None


async def set_stages(
    connection: Connection, problem: ProblemId, stages: frozenset[Task] | None
) -> None:
    await SQL.set_stages(
        connection, id=problem, stages=sorted(stages) if stages is not None else None
    )


async def retire(connection: Connection, problem: ProblemId) -> bool:
    """Returns False if there is no such problem or it is retired; its submissions stay."""
    if not rows_changed(await SQL.retire(connection, id=problem)):
        return False
    await installation.bump_version(connection, VERSION)
    return True


async def exists(connection: Connection, problem: ProblemId) -> bool:
    """True for retired problems too."""
    return bool(await SQL.exists(connection, id=problem))


async def version(connection: Connection) -> int:
    """How often any problem was changed."""
    return await installation.version(connection, VERSION)


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
        unlisted=row["unlisted"],
        published=row["published"],
        owner=row["owner_id"],
    )


@dataclass(frozen=True, slots=True)
class ProblemTitle:
    title: str
    names: Mapping[str, str]
    """Titles by language code."""


async def titles(
    connection: Connection, problems: Iterable[ProblemId]
) -> dict[ProblemId, ProblemTitle]:
    rows = SQL.list_titles(connection, ids=sorted(set(problems)))
    return {row["id"]: ProblemTitle(row["title"], row["names"] or {}) async for row in rows}


async def page(
    connection: Connection,
    wanted: ProblemFilter,
    *,
    after: ProblemId | None,
    limit: int,
    account: AccountId | None = None,
) -> list[ProblemListItem]:
    """Lists problems that are not retired, with what `account` reached."""
    lowest, highest = wanted.difficulty.levels if wanted.difficulty else (None, None)
    rows = SQL.page(
        connection,
        account=account,
        words=wanted.words,
        tags=list(wanted.tags) or None,
        lowest=lowest,
        highest=highest,
        result=wanted.result,
        drafts=wanted.drafts,
        owner=wanted.owner,
        sort=wanted.sort,
        after=after,
        limit=limit,
    )
    return [
        ProblemListItem(**{**row, "result": ProblemResult(row["result"])}) async for row in rows
    ]


async def common_tags(connection: Connection, *, limit: int) -> list[str]:
    """Tags of published problems, the most frequent first."""
    return [row["tag"] async for row in SQL.common_tags(connection, limit=limit)]


def ownership_from_row(row: Mapping[str, Any] | None) -> ProblemOwnership | None:
    if row is None:
        return None
    return ProblemOwnership(
        row["owner_id"], row["revision"], row["retired_at"] is not None, row["published"]
    )
