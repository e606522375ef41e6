"""The audit log: each action of an admin or author, written in the action's transaction."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from deemster.domain.ids import AccountId
from deemster.store.pool import Connection, statements

SQL = statements("audit")


@dataclass(frozen=True, slots=True)
class Actor:
    name: str
    """Name of the account, or of the system user who ran a command."""
    account: AccountId | None = None
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class AuditEntry:
    id: int
    at: datetime
    actor: str
    account: AccountId | None
    act: str
    target: str | None
    details: Mapping[str, Any]
    request_id: str | None


async def record(
    connection: Connection,
    actor: Actor,
    act: str,
    target: str | None = None,
    **details: Any,
) -> None:
    """`act` is a noun and a verb: `submission.rejudge`. Details must not contain secrets."""
    await SQL.record(
        connection,
        actor=actor.name,
        account=actor.account,
        act=act,
        target=target,
        details=details,
        request_id=actor.request_id,
    )


async def page(
    connection: Connection,
    *,
    before: int | None,
    limit: int,
    actor: str | None = None,
    act: str | None = None,
    target: str | None = None,
) -> list[AuditEntry]:
    """Lists entries, newest first."""
    rows = SQL.page(connection, before=before, limit=limit, actor=actor, act=act, target=target)
    return [AuditEntry(**row) async for row in rows]
