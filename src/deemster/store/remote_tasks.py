"""Tasks that were sent to judge hosts, and the results that hosts reported (M2, M3)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from deemster.domain.ids import (
    RevisionDigest,
    SubmissionId,
    WorkerId,
    WorkId,
    kind_of,
    work_id,
)
from deemster.domain.job import RECEIVING, Task
from deemster.domain.judge_host import JudgeHostId, JudgeId, Purpose
from deemster.store.notifications import HOST_CHANNEL, OUTBOX_CHANNEL, ROOM_CHANNEL
from deemster.store.pool import Connection, statements
from deemster.store.workers import SILENT_S

SQL = statements("remote_tasks")
FRESH_S: Final = 5.0
"""A host gets no task if it has sent no heartbeat for this time; it sends one each second."""


@dataclass(frozen=True, slots=True)
class HostRoom:
    """A running host that takes a task."""

    worker: WorkerId
    host: JudgeHostId
    address: str | None
    """URL to which tasks are sent; None: the host fetches them."""
    speed: float | None


@dataclass(frozen=True, slots=True)
class Room:
    """Who could run a job in some language."""

    hosts: int
    """Live hosts, with or without free slots."""
    local_workers: int
    free_local_slots: int


@dataclass(frozen=True, slots=True)
class RemoteTask:
    judge_id: JudgeId
    number: int
    work: WorkId
    attempt: int
    task: Task
    purpose: Purpose
    host: JudgeHostId
    worker: WorkerId
    is_ended: bool = False
    is_reported: bool = False
    """Its result is stored, and not settled yet."""
    is_current: bool = True
    """The work still waits for the result of this host."""


@dataclass(frozen=True, slots=True)
class SiblingTask:
    """A task for the same attempt, on another host."""

    judge_id: JudgeId
    purpose: Purpose
    host: JudgeHostId
    is_ended: bool
    body: bytes | None


@dataclass(frozen=True, slots=True)
class HostVerdict:
    submission: SubmissionId
    verdict: str
    ended_at: datetime


async def find_host(
    connection: Connection,
    work: WorkId,
    language: str,
    *,
    executes: bool,
    revision: RevisionDigest | None,
    excluded: Collection[JudgeHostId] = (),
    ahead: int = 0,
) -> HostRoom | None:
    """The best host with a free slot, or with fewer than `ahead` tasks that wait for a slot;
    `excluded` are not asked.
    """
    async for row in SQL.list_rooms(
        connection,
        work=work,
        language=language,
        executes=executes,
        revision=revision,
        excluded=list(excluded),
        fresh_s=FRESH_S,
        ahead=ahead,
    ):
        return HostRoom(
            WorkerId(row["worker_id"]),
            JudgeHostId(row["host_id"]),
            row["address"],
            row["speed"],
        )
    return None


async def count_blocking(
    connection: Connection,
    language: str,
    *,
    executes: bool,
    excluded: Collection[JudgeHostId],
    ahead: int,
) -> int | None:
    """Counts the work that waits and needs this language and slots for this kind of work. None:
    no host has room for other work that waits. `ahead` holds for submissions and analyses.
    """
    counted: int | None = await SQL.count_blocking(
        connection,
        language=language,
        executes=executes,
        excluded=list(excluded),
        fresh_s=FRESH_S,
        ahead=ahead,
    )
    return counted


async def room_for(connection: Connection, language: str) -> Room:
    row = await SQL.count_hosts_with(connection, language=language, silent_s=SILENT_S)
    return Room(row["hosts"], row["local"], row["free_local"])


async def register(
    connection: Connection,
    judge_id: JudgeId,
    work: WorkId,
    attempt: int,
    task: Task,
    room: HostRoom,
    purpose: Purpose = Purpose.RUN,
) -> RemoteTask:
    """Also wakes a host that fetches its tasks."""
    row = await SQL.register(
        connection,
        judge=judge_id,
        work=work,
        attempt=attempt,
        task=task,
        purpose=purpose,
        host=room.host,
        worker=room.worker,
        fetches=room.address is None,
        channel=HOST_CHANNEL,
    )
    number = row["number"]
    return RemoteTask(judge_id, number, work, attempt, task, purpose, room.host, room.worker)


async def remove(connection: Connection, judge_id: JudgeId) -> None:
    await SQL.remove(connection, judge=judge_id)


async def mark_sent(connection: Connection, judge_id: JudgeId) -> None:
    await SQL.mark_sent(connection, judge=judge_id)


async def claim(
    connection: Connection, host: JudgeHostId, worker: WorkerId
) -> list[tuple[RemoteTask, float | None]]:
    """Tasks that wait for this host to fetch them, with its speed; each is returned once."""
    rows = SQL.claim(connection, host=host, worker=worker)
    return [(task_from_row(row), row["speed"]) async for row in rows]


async def get(connection: Connection, judge_id: JudgeId) -> RemoteTask | None:
    row = await SQL.get(connection, judge=judge_id)
    return task_from_row(row) if row else None


async def report(
    connection: Connection, judge_id: JudgeId, work: WorkId, host: JudgeHostId, body: bytes
) -> bool:
    """Stores the result of a task with the job that settles it. False: the host has no such
    task, or not any more, or has reported a result before.
    """
    row = await SQL.report(
        connection,
        judge=judge_id,
        work=work,
        host=host,
        body=body,
        receiving=RECEIVING[kind_of(work)],
        outbox_channel=OUTBOX_CHANNEL,
        room_channel=ROOM_CHANNEL,
    )
    return row is not None


async def find_result(connection: Connection, number: int) -> tuple[RemoteTask, bytes] | None:
    """None: the result of the task with this number is settled, or has not come yet."""
    row = await SQL.find_result(connection, number=number)
    return (task_from_row(row), bytes(row["body"])) if row else None


async def end(connection: Connection, judge_id: JudgeId, verdict: str | None) -> bool:
    """False: it was ended before."""
    return bool(await SQL.end(connection, judge=judge_id, verdict=verdict))


async def list_unsettled(
    connection: Connection, *, older_than_s: float, limit: int
) -> list[int]:
    rows = SQL.list_unsettled(connection, older_than_s=older_than_s, limit=limit)
    return [row["number"] async for row in rows]


async def end_silent_checks(connection: Connection) -> list[WorkId]:
    """Lets the results count without a check whose host is gone or silent; returns the work."""
    return [work_id(row["work_id"]) async for row in SQL.end_silent_checks(connection)]


async def siblings(connection: Connection, work: WorkId, attempt: int) -> list[SiblingTask]:
    return [
        SiblingTask(
            JudgeId(row["judge_id"]),
            Purpose(row["purpose"]),
            JudgeHostId(row["host_id"]),
            row["is_ended"],
            bytes(row["body"]) if row["body"] is not None else None,
        )
        async for row in SQL.others_of(connection, work=work, attempt=attempt)
    ]


async def move_lease(
    connection: Connection, work: WorkId, attempt: int, *, holder: WorkerId, to: WorkerId
) -> bool:
    """False: the attempt has ended, or the holder has the lease no longer."""
    moved = await SQL.move_lease(
        connection, work=work, attempt=attempt, holder=holder, receiver=to
    )
    return bool(moved)


async def judged_by(
    connection: Connection, host: JudgeHostId, *, within_s: float, limit: int
) -> Sequence[HostVerdict]:
    rows = SQL.judged_by(connection, host=host, within_s=within_s, limit=limit)
    return [
        HostVerdict(SubmissionId(row["work_id"]), row["verdict"], row["ended_at"])
        async for row in rows
    ]


async def may_read(
    connection: Connection, host: JudgeHostId, judge_id: JudgeId, digest: str
) -> bool:
    """Whether the host has a task that needs this test data."""
    return bool(await SQL.may_read(connection, host=host, judge=judge_id, digest=digest))


async def trim(connection: Connection, *, older_than_s: float, limit: int) -> None:
    await SQL.trim(connection, older_than_s=float(older_than_s), limit=limit)


def task_from_row(row: Any) -> RemoteTask:
    return RemoteTask(
        judge_id=JudgeId(row["judge_id"]),
        number=row["number"],
        work=work_id(row["work_id"]),
        attempt=row["attempt"],
        task=Task(row["task"]),
        purpose=Purpose(row["purpose"]),
        host=JudgeHostId(row["host_id"]),
        worker=WorkerId(row["worker_id"]),
        is_ended=row.get("is_ended", False),
        is_reported=row.get("is_reported", False),
        is_current=row.get("is_current", True),
    )
