"""Fingerprints of submissions, and pairs of similar submissions (P6)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import datetime
from typing import Any, Final, Literal

from deemster.domain.ids import AccountId, ProblemId, SubmissionId
from deemster.domain.similarity import Lines, Match, MatchingRegion
from deemster.domain.verdict import Verdict
from deemster.store.pool import Connection, statements

SQL = statements("similarity")
OVERLAP_S: Final = 600.0
"""Longer than any transaction that ends a submission."""
MAX_PAIRS_OF_SUBMISSION: Final = 100
MAX_LINKS: Final = 20_000

Refusal = Literal["too_short", "failed"]


@dataclass(frozen=True, slots=True)
class UnreadSubmission:
    id: SubmissionId
    problem: ProblemId
    language: str
    main: str | None
    source: str
    finished_at: datetime


@dataclass(frozen=True, slots=True)
class ProgramRecord:
    """The fingerprints of a submission as they are stored, or why it has none."""

    id: SubmissionId
    problem: ProblemId
    lexer: str
    files: Sequence[str]
    fingerprints: bytes | None
    refusal: Refusal | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class StoredProgram:
    id: SubmissionId
    author: AccountId
    fingerprints: bytes


@dataclass(frozen=True, slots=True)
class ProgramGroup:
    """The programs of a problem that are compared with each other."""

    problem: ProblemId
    lexer: str


@dataclass(frozen=True, slots=True)
class ComparedSubmission:
    id: SubmissionId
    author: AccountId
    author_name: str
    language: str
    verdict: Verdict | None
    submitted_at: datetime
    files: Sequence[str]


@dataclass(frozen=True, slots=True)
class SimilarPair:
    match: Match[SubmissionId]
    left: ComparedSubmission
    right: ComparedSubmission


@dataclass(frozen=True, slots=True)
class PairPosition:
    """The place of a pair in the list of a problem's pairs."""

    similarity: int
    """In thousandths."""
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class SimilarityProgress:
    submissions: int
    """Finished submissions, without rejudges."""
    compared: int
    too_short: int
    failed: int


@dataclass(frozen=True, slots=True)
class ProgramStatus:
    refusal: Refusal | None
    reason: str | None
    compared: bool


@dataclass(frozen=True, slots=True)
class ExportedSubmission:
    id: SubmissionId
    author_name: str
    language: str
    main: str | None
    source: str
    verdict: str
    submitted_at: datetime


async def list_unread(
    connection: Connection, *, algorithm: int, limit: int
) -> list[UnreadSubmission]:
    rows = SQL.list_unread(connection, algorithm=algorithm, overlap_s=OVERLAP_S, limit=limit)
    return [
        UnreadSubmission(
            id=SubmissionId(row["id"]),
            problem=ProblemId(row["problem_id"]),
            language=row["language"],
            main=row["main"],
            source=row["source"],
            finished_at=row["finished_at"],
        )
        async for row in rows
    ]


async def move_cursor(connection: Connection, *, algorithm: int, read_to: datetime) -> None:
    await SQL.move_cursor(connection, algorithm=algorithm, finished_at=read_to)


async def put_program(
    connection: Connection, program: ProgramRecord, *, algorithm: int
) -> None:
    await SQL.put_program(
        connection,
        id=program.id,
        problem=program.problem,
        lexer=program.lexer,
        algorithm=algorithm,
        files=list(program.files),
        fingerprints=program.fingerprints,
        refusal=program.refusal,
        reason=program.reason,
    )


async def next_group(connection: Connection, *, algorithm: int) -> ProgramGroup | None:
    row = await SQL.next_group(connection, algorithm=algorithm)
    return ProgramGroup(ProblemId(row["problem_id"]), row["lexer"]) if row else None


async def count_authors(connection: Connection, group: ProgramGroup, *, algorithm: int) -> int:
    return int(
        await SQL.count_authors(
            connection, problem=group.problem, lexer=group.lexer, algorithm=algorithm
        )
    )


async def compare_again_if_doubled(
    connection: Connection, group: ProgramGroup, *, authors: int
) -> None:
    await SQL.compare_again(
        connection, problem=group.problem, lexer=group.lexer, authors=authors
    )


async def list_uncompared(
    connection: Connection, group: ProgramGroup, *, algorithm: int, limit: int
) -> list[StoredProgram]:
    rows = SQL.list_uncompared(
        connection, problem=group.problem, lexer=group.lexer, algorithm=algorithm, limit=limit
    )
    return [program_from_row(row) async for row in rows]


async def list_programs(
    connection: Connection, group: ProgramGroup, *, algorithm: int, after: str, limit: int
) -> list[StoredProgram]:
    rows = SQL.list_programs(
        connection,
        problem=group.problem,
        lexer=group.lexer,
        algorithm=algorithm,
        after=after,
        limit=limit,
    )
    return [program_from_row(row) async for row in rows]


async def get_programs(
    connection: Connection, ids: Iterable[SubmissionId], *, algorithm: int
) -> list[StoredProgram]:
    rows = SQL.get_programs(connection, ids=sorted(ids), algorithm=algorithm)
    return [program_from_row(row) async for row in rows]


async def list_partners(
    connection: Connection, ids: Iterable[SubmissionId]
) -> list[tuple[SubmissionId, SubmissionId]]:
    """Lists the pairs that are stored of these submissions."""
    rows = SQL.list_partners(connection, ids=sorted(ids))
    return [(SubmissionId(row["left_id"]), SubmissionId(row["right_id"])) async for row in rows]


async def put_comparison(
    connection: Connection,
    problem: ProblemId,
    *,
    compared: Iterable[SubmissionId],
    matches: Sequence[Match[SubmissionId]],
    ended: Sequence[tuple[SubmissionId, SubmissionId]],
) -> None:
    """Stores the pairs of compared submissions. `ended` are pairs that are similar no more."""
    await SQL.put_pairs(
        connection,
        problem=problem,
        lefts=[match.left for match in matches],
        rights=[match.right for match in matches],
        left_shares=[round(1000 * match.left_share) for match in matches],
        right_shares=[round(1000 * match.right_share) for match in matches],
        symbols=[match.symbols for match in matches],
        regions=[regions_json(match.regions) for match in matches],
    )
    if ended:
        await SQL.delete_pairs(
            connection,
            lefts=[left for left, _ in ended],
            rights=[right for _, right in ended],
        )
    await SQL.mark_compared(connection, ids=sorted(compared))


async def starters(connection: Connection, problem: ProblemId) -> Mapping[str, str]:
    """Starter files of the problem by name, which template code is made of."""
    return await SQL.starters(connection, problem=problem) or {}


async def progress(connection: Connection, problem: ProblemId) -> SimilarityProgress:
    return SimilarityProgress(**await SQL.progress(connection, problem=problem))


async def page_of_problem(
    connection: Connection,
    problem: ProblemId,
    *,
    at_least: int,
    after: PairPosition | None,
    limit: int,
) -> list[SimilarPair]:
    """Lists the most similar pair of every two authors; `at_least` is in thousandths."""
    rows = SQL.page_of_problem(
        connection,
        problem=problem,
        at_least=at_least,
        after=after.similarity if after else None,
        after_left=after.left if after else None,
        after_right=after.right if after else None,
        limit=limit,
    )
    return [pair_from_row(row) async for row in rows]


async def list_of_submission(
    connection: Connection, submission: SubmissionId
) -> list[SimilarPair]:
    rows = SQL.list_of_submission(connection, id=submission, limit=MAX_PAIRS_OF_SUBMISSION)
    return [pair_from_row(row) async for row in rows]


async def list_links(
    connection: Connection, problem: ProblemId, *, at_least: int
) -> list[tuple[SubmissionId, SubmissionId]]:
    rows = SQL.list_links(connection, problem=problem, at_least=at_least, limit=MAX_LINKS)
    return [(SubmissionId(row["left_id"]), SubmissionId(row["right_id"])) async for row in rows]


async def author_names(
    connection: Connection, ids: Iterable[SubmissionId]
) -> dict[SubmissionId, str]:
    rows = SQL.list_authors(connection, ids=sorted(ids))
    return {SubmissionId(row["id"]): row["name"] async for row in rows}


async def status(connection: Connection, submission: SubmissionId) -> ProgramStatus | None:
    """None: the submission was not read yet."""
    row = await SQL.get_program(connection, id=submission)
    if row is None:
        return None
    return ProgramStatus(row["refusal"], row["reason"], row["compared_at"] is not None)


async def authors_by_language(connection: Connection, problem: ProblemId) -> dict[str, int]:
    rows = SQL.list_languages(connection, problem=problem)
    return {row["language"]: row["authors"] async for row in rows}


async def list_newest(
    connection: Connection, problem: ProblemId, languages: Iterable[str], *, limit: int
) -> list[ExportedSubmission]:
    """One submission of each author: the newest accepted one, or else the newest."""
    rows = SQL.list_newest(
        connection, problem=problem, languages=sorted(languages), limit=limit
    )
    return [
        ExportedSubmission(
            id=SubmissionId(row["id"]),
            author_name=row["name"],
            language=row["language"],
            main=row["main"],
            source=row["source"],
            verdict=row["verdict"],
            submitted_at=row["submitted_at"],
        )
        async for row in rows
    ]


def program_from_row(row: Mapping[str, Any]) -> StoredProgram:
    return StoredProgram(
        SubmissionId(row["submission_id"]), AccountId(row["account_id"]), row["fingerprints"]
    )


def regions_json(regions: Sequence[MatchingRegion]) -> str:
    """Six numbers for each region: file and lines of the left, then of the right program."""
    return json.dumps([[*astuple(each.left), *astuple(each.right)] for each in regions])


def pair_from_row(row: Mapping[str, Any]) -> SimilarPair:
    left, right = (compared_from_row(row, side) for side in ("left", "right"))
    match = Match(
        left=left.id,
        right=right.id,
        left_share=row["left_share"] / 1000,
        right_share=row["right_share"] / 1000,
        symbols=row["symbols"],
        regions=[MatchingRegion(Lines(*each[:3]), Lines(*each[3:])) for each in row["regions"]],
    )
    return SimilarPair(match, left, right)


def compared_from_row(row: Mapping[str, Any], side: str) -> ComparedSubmission:
    verdict = row[f"{side}_verdict"]
    return ComparedSubmission(
        id=SubmissionId(row[f"{side}_id"]),
        author=AccountId(row[f"{side}_account"]),
        author_name=row[f"{side}_name"],
        language=row[f"{side}_language"],
        verdict=Verdict(verdict) if verdict else None,
        submitted_at=row[f"{side}_at"],
        files=row[f"{side}_files"],
    )
