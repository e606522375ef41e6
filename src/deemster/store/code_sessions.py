"""Code sessions and their versions; one guarded statement saves, and none overwrites (E2)."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from deemster.domain.code_session import KEPT_BYTES, KEPT_VERSIONS, CodeSession, CodeVersion
from deemster.domain.ids import AccountId, CodeSessionId, ExecutionId, ProblemId
from deemster.store.pool import Connection, statements

SQL = statements("code_sessions")
DELETED_AT_ONCE: Final = 500


async def add(
    connection: Connection,
    session: CodeSessionId,
    account: AccountId,
    *,
    language: str,
    source: str,
    most: int,
    problem: ProblemId | None = None,
) -> CodeSession | None:
    """Returns None if the account has `most` sessions without a problem, or a session for this
    problem. Needs a transaction.
    """
    await SQL.lock_account(connection, account=account)
    row = await SQL.add(
        connection,
        id=session,
        account=account,
        language=language,
        source=source,
        most=most,
        problem=problem,
    )
    return session_from_row(row) if row else None


async def of_problem(
    connection: Connection, account: AccountId, problem: ProblemId
) -> CodeSession | None:
    row = await SQL.of_problem(connection, account=account, problem=problem)
    return session_from_row(row) if row else None


async def get(
    connection: Connection, session: CodeSessionId, account: AccountId
) -> CodeSession | None:
    row = await SQL.get(connection, id=session, account=account)
    return session_from_row(row) if row else None


async def exists(
    connection: Connection, session: CodeSessionId, account: AccountId | None
) -> bool:
    """`account` None: a session of any account."""
    found: bool = await SQL.exists(connection, id=session, account=account)
    return found


async def page(
    connection: Connection, account: AccountId, *, before: CodeSessionId | None, limit: int
) -> list[CodeSession]:
    """Lists sessions without their source, newest first."""
    rows = SQL.page(connection, account=account, before=before, limit=limit)
    return [session_from_row(row) async for row in rows]


async def save(
    connection: Connection,
    session: CodeSessionId,
    account: AccountId,
    *,
    language: str | None = None,
    source: str | None = None,
    expected: Sequence[int] | None = None,
    restored: int | None = None,
) -> CodeSession | None:
    """Returns None, and changes nothing, if the session has this content or is another version
    than expected, or does not exist.
    """
    row = await SQL.save(
        connection,
        id=session,
        account=account,
        language=language,
        source=source,
        expected=expected,
        restored=restored,
        kept_versions=KEPT_VERSIONS,
        kept_bytes=KEPT_BYTES,
    )
    return session_from_row(row) if row else None


async def versions(
    connection: Connection, session: CodeSessionId, *, before: int | None, limit: int
) -> list[CodeVersion]:
    """Lists versions without their source, newest first."""
    rows = SQL.versions(connection, id=session, before=before, limit=limit)
    return [version_from_row(row) async for row in rows]


async def version(
    connection: Connection, session: CodeSessionId, number: int
) -> CodeVersion | None:
    row = await SQL.version(connection, id=session, number=number)
    return version_from_row(row) if row else None


async def lock(connection: Connection, session: CodeSessionId, account: AccountId) -> bool:
    """Returns False if there is no such session."""
    return await SQL.lock(connection, id=session, account=account) is not None


async def unfinished_executions(
    connection: Connection, session: CodeSessionId
) -> list[ExecutionId]:
    rows = SQL.unfinished_executions(connection, id=session)
    return [ExecutionId(row["id"]) async for row in rows]


async def delete_ended_executions(
    connection: Connection, session: CodeSessionId, *, limit: int = DELETED_AT_ONCE
) -> int:
    """Returns how many were deleted."""
    return int(await SQL.delete_ended_executions(connection, id=session, limit=limit))


async def delete(connection: Connection, session: CodeSessionId) -> None:
    """Deletes the session with its versions and executions. The caller has locked it."""
    await SQL.delete_executions(connection, id=session)
    await SQL.delete(connection, id=session)


def session_from_row(row: Mapping[str, Any]) -> CodeSession:
    latest = row["latest_execution_id"]
    return CodeSession(
        id=CodeSessionId(row["id"]),
        account=AccountId(row["account_id"]),
        language=row["language"],
        source=row["source"],
        version=row["version"],
        created_at=row["created_at"],
        changed_at=row["changed_at"],
        latest_execution=ExecutionId(latest) if latest else None,
        problem=ProblemId(row["problem_id"]) if row["problem_id"] else None,
    )


def version_from_row(row: Mapping[str, Any]) -> CodeVersion:
    return CodeVersion(
        number=row["number"],
        language=row["language"],
        source=row["source"],
        size_bytes=row["size_bytes"],
        restored=row["restored"],
        saved_at=row["saved_at"],
    )
