"""Workers: which are alive, how many slots they have, and how fast they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from typing import Any, Final

from deemster.domain.ids import WorkerId
from deemster.domain.task_counts import TaskCounts
from deemster.store.pool import Connection, statements

SQL = statements("workers")
SILENT_S: Final = 15.0
"""A worker without a heartbeat for this time counts as dead."""


@dataclass(frozen=True, slots=True)
class WorkerView:
    id: WorkerId
    host: str
    slots: int
    languages: Sequence[str]
    versions: Mapping[str, str]
    """Of the languages; empty for workers of earlier releases."""
    busy: int
    cycle_s: float | None
    started_at: datetime
    seen_at: datetime
    draining_at: datetime | None

    @property
    def draining(self) -> bool:
        return self.draining_at is not None


async def register(
    connection: Connection,
    worker: WorkerId,
    *,
    host: str,
    process: str,
    slots: int,
    versions: Mapping[str, str],
) -> None:
    """`process` identifies the process on its host even if its pid is used again."""
    await SQL.register(
        connection,
        id=worker,
        host=host,
        process=process,
        slots=slots,
        languages=sorted(versions),
        versions=dict(versions),
    )


async def update_languages(
    connection: Connection, worker: WorkerId, versions: Mapping[str, str]
) -> None:
    await SQL.update_languages(
        connection, id=worker, languages=sorted(versions), versions=dict(versions)
    )


class WorkerOrder(Enum):
    """What the answer to a heartbeat tells a worker to do."""

    WORK = auto()
    DRAIN = auto()
    """Take no more work, but stay."""
    GONE = auto()
    """It counted as dead meanwhile, and must register again under another id."""


async def heartbeat(
    connection: Connection,
    worker: WorkerId,
    *,
    busy: int,
    cycle_s: float | None,
    ending: bool = False,
    stage_counts: Mapping[str, Any] | None = None,
) -> WorkerOrder:
    """A worker that is `ending` drains, whatever an admin has set.

    `stage_counts` are all counts of the worker; None: they are the same as before.
    """
    row = await SQL.heartbeat(
        connection,
        id=worker,
        busy=busy,
        cycle_s=cycle_s,
        ending=ending,
        stage_counts=stage_counts,
    )
    if row is None:
        return WorkerOrder.GONE
    return WorkerOrder.DRAIN if row["draining"] else WorkerOrder.WORK


async def drain(connection: Connection, worker: WorkerId) -> bool:
    """Returns False if the worker is gone."""
    return await SQL.drain(connection, id=worker) is not None


async def resume(connection: Connection, worker: WorkerId) -> bool:
    """Returns False if the worker is gone."""
    return await SQL.resume(connection, id=worker) is not None


async def mark_gone(connection: Connection, workers: Sequence[WorkerId]) -> None:
    """What they were judging is rescued at once."""
    await SQL.mark_gone(connection, ids=list(workers))


@dataclass(frozen=True, slots=True)
class WorkerProcess:
    name: str
    is_silent: bool
    """It has sent no heartbeat for so long that it counts as dead."""


async def list_on_host(connection: Connection, host: str) -> Mapping[WorkerId, WorkerProcess]:
    """Maps each worker with that host name which is not marked as gone to its process."""
    return {
        WorkerId(row["id"]): WorkerProcess(row["process"], row["is_silent"])
        async for row in SQL.list_on_host(connection, host=host, silent_s=SILENT_S)
    }


async def mark_silent_gone(connection: Connection) -> list[WorkerId]:
    """Marks workers without a heartbeat as gone and returns them."""
    return [
        WorkerId(row["id"])
        async for row in SQL.mark_silent_gone(connection, silent_s=2 * SILENT_S)
    ]


async def list_alive(connection: Connection) -> list[WorkerView]:
    return [WorkerView(**row) async for row in SQL.list_alive(connection, silent_s=SILENT_S)]


@dataclass(frozen=True, slots=True)
class MachineLanguages:
    """The languages that a worker or a judge host has."""

    is_judge_host: bool
    languages: Sequence[str]


async def list_languages(connection: Connection) -> list[MachineLanguages]:
    """Of all that are alive, also of those that drain: they may come back."""
    rows = SQL.list_languages(connection, silent_s=SILENT_S)
    return [MachineLanguages(**row) async for row in rows]


async def stage_counts(connection: Connection) -> dict[WorkerId, dict[str, TaskCounts]]:
    """What the workers that are alive counted since they started, by task."""
    return {
        WorkerId(row["id"]): {
            task: TaskCounts.of(document) for task, document in row["stage_counts"].items()
        }
        async for row in SQL.stage_counts(connection, silent_s=SILENT_S)
    }


async def rate_per_s(connection: Connection) -> float | None:
    """How many submissions all workers together finish per second; None: unknown."""
    row = await SQL.rate_per_s(connection, silent_s=SILENT_S)
    return row["per_s"] if row else None


async def trim(connection: Connection, *, older_than_s: float) -> None:
    await SQL.trim(connection, older_than_s=older_than_s)
