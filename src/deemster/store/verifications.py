"""Verifications: example submissions of a revision that the workers judge, each once (W3)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from deemster.domain.ids import (
    SUBMISSION,
    AccountId,
    ProblemId,
    RevisionDigest,
    SubmissionId,
    new_id,
)
from deemster.domain.job import PRIORITY_CLASS_WIDTH, PriorityClass
from deemster.domain.lifecycle import State
from deemster.domain.verdict import Verdict
from deemster.store.pool import Connection, statements

SQL = statements("verifications")


@dataclass(frozen=True, slots=True)
class NewExample:
    path: str
    """A file or directory of the package."""
    language: str
    main: str | None
    source: str
    """Digest of the artifact with the source files."""


@dataclass(frozen=True, slots=True)
class Verification:
    made_at: datetime
    made_by_name: str
    refused: Mapping[str, str]
    """By path of an example: why it can't be judged."""


@dataclass(frozen=True, slots=True)
class ExampleView:
    id: SubmissionId
    path: str
    state: State
    verdict: Verdict | None
    runtime_ms: int | None
    memory_kb: int | None
    score: float | None
    max_score: float | None
    failure: str | None
    jury: str | None
    """Digest of the artifact with the jury's report; None: there is no verdict yet."""
    cases_done: int | None
    cases_total: int | None


async def add(
    connection: Connection,
    problem: ProblemId,
    revision: RevisionDigest,
    made_by: AccountId,
    examples: Sequence[NewExample],
    refused: Mapping[str, str],
) -> bool:
    """Returns False, and writes nothing, if the revision has a verification already.

    Of two callers at the same time, the second waits here for the first one's transaction.
    """
    keys = {"problem": problem, "revision": revision}
    if await SQL.add(connection, **keys, made_by=made_by, refused=dict(refused)) is None:
        return False
    await SQL.add_examples(
        connection,
        **keys,
        account=made_by,
        priority=PriorityClass.REJUDGE * PRIORITY_CLASS_WIDTH + 1,
        ids=[new_id(SUBMISSION) for _ in examples],
        languages=[each.language for each in examples],
        mains=[each.main for each in examples],
        sources=[each.source for each in examples],
        examples=[each.path for each in examples],
    )
    return True


async def remove_ended(
    connection: Connection, problem: ProblemId, revision: RevisionDigest
) -> None:
    """Makes room for a new verification if all examples of the last one have ended."""
    await SQL.remove_ended(connection, problem=problem, revision=revision)


async def get(
    connection: Connection, problem: ProblemId, revision: RevisionDigest
) -> Verification | None:
    row = await SQL.get(connection, problem=problem, revision=revision)
    return Verification(**row) if row else None


async def list_examples(
    connection: Connection, problem: ProblemId, revision: RevisionDigest
) -> list[ExampleView]:
    rows = SQL.list_examples(connection, problem=problem, revision=revision)
    return [
        ExampleView(
            id=SubmissionId(row["id"]),
            path=row["example"],
            state=State(row["state"]),
            verdict=Verdict(row["verdict"]) if row["verdict"] else None,
            runtime_ms=row["runtime_ms"],
            memory_kb=row["memory_kb"],
            score=row["score"],
            max_score=row["max_score"],
            failure=row["failure"],
            jury=row["jury"],
            cases_done=row["cases_done"],
            cases_total=row["cases_total"],
        )
        async for row in rows
    ]
