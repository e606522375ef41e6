"""Processes of judge hosts, which are workers, and the leases of their tasks (M4)."""

from collections.abc import Mapping, Sequence

from deemster.domain.ids import WORKER, WorkerId, new_id
from deemster.domain.judge_host import JudgeHostId, JudgeId
from deemster.domain.submission import JudgingProgress
from deemster.store import judge_hosts
from deemster.store.pool import Connection, statements
from deemster.store.workers import WorkerOrder

SQL = statements("host_workers")


async def register(
    connection: Connection,
    host: JudgeHostId,
    *,
    slots: int,
    execution_slots: int,
    versions: Mapping[str, str],
    speed: float | None = None,
    address: str | None = None,
) -> WorkerId | None:
    """Call it in a transaction. The earlier process of the host counts as gone, so that its
    work is rescued at once. Returns None if the host is revoked.
    """
    found = await SQL.lock_host(connection, host=host)
    if found is None:
        return None
    await judge_hosts.mark_gone(connection, host)
    worker = WorkerId(new_id(WORKER))
    await SQL.register(
        connection,
        id=worker,
        host=host,
        **found,
        slots=slots,
        execution_slots=execution_slots,
        languages=sorted(versions),
        versions=dict(versions),
        speed=speed,
        address=address,
    )
    return worker


async def heartbeat(
    connection: Connection,
    host: JudgeHostId,
    worker: WorkerId,
    *,
    busy: int,
    cycle_s: float | None = None,
    data: Sequence[str] = (),
    versions: Mapping[str, str] | None = None,
    ending: bool = False,
) -> WorkerOrder | None:
    """`versions` are None if they have not changed. A host that is `ending` drains, and so does
    one that an admin paused. Returns None if the host never had this worker.
    """
    row = await SQL.heartbeat(
        connection,
        host=host,
        worker=worker,
        busy=busy,
        cycle_s=cycle_s,
        data=list(data),
        languages=sorted(versions) if versions is not None else None,
        versions=dict(versions) if versions is not None else None,
        ending=ending,
    )
    if row is not None:
        return WorkerOrder.DRAIN if row["is_draining"] else WorkerOrder.WORK
    is_known = await SQL.is_known(connection, host=host, worker=worker)
    return WorkerOrder.GONE if is_known else None


async def is_present(connection: Connection, host: JudgeHostId, worker: WorkerId) -> bool:
    """Whether this is the running process of the host, and does not count as dead."""
    return bool(await SQL.is_present(connection, host=host, worker=worker))


async def renew_leases(
    connection: Connection,
    host: JudgeHostId,
    worker: WorkerId,
    running: Mapping[JudgeId, JudgingProgress],
) -> list[JudgeId]:
    """Returns the tasks whose results no longer count, because they are unknown, have ended or
    were given to others.
    """
    if not running:
        return []
    rows = SQL.renew(
        connection,
        host=host,
        worker=worker,
        ids=list(running),
        done=[progress.done for progress in running.values()],
        total=[progress.total for progress in running.values()],
    )
    kept = {row["judge_id"] async for row in rows}
    return [judge for judge in running if judge not in kept]


async def leave(connection: Connection, host: JudgeHostId, worker: WorkerId) -> None:
    """The work that the host still has is rescued at once."""
    await SQL.leave(connection, host=host, worker=worker)
