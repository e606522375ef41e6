"""Judge hosts: their keys, nonces and pauses, and how often they were refused (M1, M4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from deemster.domain.errors import Conflict, NotFound
from deemster.domain.ids import WorkerId, new_id
from deemster.domain.judge_host import JUDGE_HOST, NAME_PATTERN, JudgeHostId
from deemster.domain.request_signature import NONCE_KEPT_S, VALID_S
from deemster.store.pool import Connection, rows_changed, statements
from deemster.store.workers import SILENT_S

SQL = statements("judge_hosts")


@dataclass(frozen=True, slots=True)
class RegisteredHost:
    """What is needed to check a signature."""

    id: JudgeHostId
    name: str
    generation: int
    is_paused: bool
    is_revoked: bool


@dataclass(frozen=True, slots=True)
class HostWorker:
    """The latest process of a host."""

    id: WorkerId
    slots: int
    execution_slots: int
    busy: int
    languages: Sequence[str]
    versions: Mapping[str, str]
    speed: float | None
    address: str | None
    started_at: datetime
    seen_at: datetime
    draining_at: datetime | None
    is_live: bool


class HostState(StrEnum):
    READY = "ready"
    """The host runs, and takes tasks."""
    DRAINING = "draining"
    PAUSED = "paused"
    OFFLINE = "offline"
    """The host does not run, or is silent."""
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
class JudgeHostView:
    id: JudgeHostId
    name: str
    created_by: str
    created_at: datetime
    paused_at: datetime | None
    pause_reason: str | None
    revoked_at: datetime | None
    worker: HostWorker | None
    """None: the host did not run for a day."""

    @property
    def state(self) -> HostState:
        if self.revoked_at is not None:
            return HostState.REVOKED
        if self.paused_at is not None:
            return HostState.PAUSED
        if self.worker is None or not self.worker.is_live:
            return HostState.OFFLINE
        return HostState.DRAINING if self.worker.draining_at is not None else HostState.READY


async def add(connection: Connection, name: str, *, created_by: str) -> JudgeHostId:
    host = JudgeHostId(new_id(JUDGE_HOST))
    if not rows_changed(await SQL.add(connection, id=host, name=name, created_by=created_by)):
        raise Conflict(f"There is a judge host {name} already: choose another name.")
    return host


async def find(connection: Connection, host: str) -> RegisteredHost | None:
    row = await SQL.find(connection, id=host)
    return RegisteredHost(**row) if row else None


async def lock(connection: Connection, name_or_id: str) -> RegisteredHost:
    """Call it in a transaction, in which nobody else then changes the host."""
    row = None
    if NAME_PATTERN.fullmatch(name_or_id):
        row = await SQL.lock(connection, name=name_or_id)
    if row is None:
        raise NotFound(
            f"There is no judge host {name_or_id[:80]!r}: see `deemster host list`, or GET "
            "/v1/admin/judge-hosts."
        )
    return RegisteredHost(**row)


async def list_all(connection: Connection) -> list[JudgeHostView]:
    """Lists the hosts that are not revoked, by name."""
    rows = SQL.views(connection, id=None, silent_s=SILENT_S)
    return [view_from_row(row) async for row in rows]


async def get(connection: Connection, host: JudgeHostId) -> JudgeHostView | None:
    rows = SQL.views(connection, id=host, silent_s=SILENT_S)
    return next(iter([view_from_row(row) async for row in rows]), None)


def view_from_row(row: Mapping[str, Any]) -> JudgeHostView:
    fields = dict(row)
    of_host = {name: fields.pop(name) for name in JudgeHostView.__slots__ if name != "worker"}
    worker = fields.pop("worker_id")
    return JudgeHostView(**of_host, worker=HostWorker(worker, **fields) if worker else None)


async def pause(connection: Connection, host: JudgeHostId, reason: str | None = None) -> bool:
    """Gives the host no more tasks until `resume`. Returns False if it is revoked."""
    if await SQL.pause(connection, id=host, reason=reason) is None:
        return False
    await drain(connection, host)
    return True


async def resume(connection: Connection, host: JudgeHostId) -> bool:
    """Ends a pause and a drain. Returns False if the host is unknown or revoked."""
    if await SQL.resume(connection, id=host) is None:
        return False
    await SQL.resume_workers(connection, id=host)
    return True


async def drain(connection: Connection, host: JudgeHostId) -> bool:
    """Gives the host no more tasks until `resume`, or until it starts again. Returns False if
    it does not run.
    """
    return len([row async for row in SQL.drain_workers(connection, id=host)]) > 0


async def revoke(connection: Connection, host: JudgeHostId) -> bool:
    """Refuses the host for ever, and rescues its work at once. Returns False if it is unknown
    or was revoked before.
    """
    if await SQL.revoke(connection, id=host) is None:
        return False
    await mark_gone(connection, host)
    return True


async def rotate(connection: Connection, host: JudgeHostId) -> int | None:
    """Makes the present key of the host useless, and rescues its work at once. Returns the
    generation of the new key; None if the host is unknown or revoked.
    """
    row = await SQL.rotate(connection, id=host)
    if row is None:
        return None
    await mark_gone(connection, host)
    return int(row["generation"])


async def mark_gone(connection: Connection, host: JudgeHostId) -> list[WorkerId]:
    """Marks the process of the host as gone, so that the watchdog rescues its work at once."""
    rows = SQL.mark_workers_gone(connection, id=host)
    return [WorkerId(row["id"]) async for row in rows]


async def use_nonce(
    connection: Connection, host: JudgeHostId, nonce: str
) -> tuple[RegisteredHost, bool]:
    """Returns the host as it is now, and False if it has used the nonce before."""
    fields = dict(await SQL.use_nonce(connection, host=host, nonce=nonce))
    is_new = fields.pop("is_new")
    return RegisteredHost(**fields), is_new


async def trim_nonces(connection: Connection) -> None:
    """Keeps nonces a while longer, because the clocks of several API processes may differ."""
    await SQL.trim_nonces(connection, older_than_s=NONCE_KEPT_S + VALID_S)


async def count_refusal(connection: Connection, reason: str) -> None:
    await SQL.count_refusal(connection, reason=reason)


async def refusals(connection: Connection) -> dict[str, int]:
    """How many requests and results of hosts were refused, by reason."""
    return {row["reason"]: row["count"] async for row in SQL.refusals(connection)}
