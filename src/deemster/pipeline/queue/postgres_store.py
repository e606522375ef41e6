"""BullMQ on Postgres: one schema for each environment, every wait bounded."""

import asyncio
import os
import socket
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

import psycopg
from bullmq.backends import PostgresBackend
from bullmq.backends.postgres_connection import PgResult, run_migrations
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from deemster.domain.errors import Refused
from deemster.domain.job import QueueName
from deemster.pipeline.queue.engine import LockedJob, WakeSignal
from deemster.pipeline.queue.topology import postgres_schema, without_secrets

CONNECT_S: Final = 3
ANSWER_S: Final = 5.0
PREPARE_S: Final = 20.0
"""Processes that start together prepare the schema one after the other."""
LISTEN_S: Final = 30.0
SETTINGS: Final = {
    # The queue may lose its last writes: submissions are written durably elsewhere.
    "synchronous_commit": "off",
    "statement_timeout": f"{ANSWER_S:g}s",
}
KEEPALIVE: Final = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
WIPED: Final = (
    psycopg.errors.UndefinedTable,
    psycopg.errors.UndefinedFunction,
    psycopg.errors.UndefinedObject,
    psycopg.errors.InvalidSchemaName,
    psycopg.errors.FeatureNotSupported,  # a cached plan is for tables of before
    psycopg.errors.InternalError_,  # a table disappeared in the middle of a statement
)
# BullMQ can look up only one job at a time.
PRESENT: Final = (
    "SELECT id FROM job WHERE queue = $1 AND id = ANY($2::text[])"
    " AND state IN ('waiting', 'delayed', 'active')"
)
# BullMQ's own functions give a job that goes back a new number: jobs that were claimed together
# would come back in another order.
RETURN = (
    "WITH returned AS (UPDATE job SET state = 'waiting', lock_token = NULL,"
    " locked_until_ms = NULL WHERE queue = $1 AND id = $2 AND state = 'active'"
    " AND lock_token = $3 RETURNING id)"
    " SELECT pg_notify('bullmq_jobs', $1), publish_event($1, 'waiting',"
    " jsonb_build_object('jobId', id, 'prev', 'active')) FROM returned"
)

Connection = psycopg.AsyncConnection[tuple[Any, ...]]


class PostgresStore:
    faults = (psycopg.Error,)
    # BullMQ would read all finished jobs each time that a job ends.
    trims_by_count = False
    # BullMQ creates two temporary tables for each bulk, which takes as long as 15 jobs.
    smallest_bulk = 16

    def __init__(self, url: str, env: str, name: str) -> None:
        self.shown = without_secrets(url)
        self._connection = QueueConnection(conninfo_of(url, name), postgres_schema(env))

    async def ready(self) -> None:
        await self._connection.wait_until_ready()

    def backend(self, queue: QueueName) -> Any:
        return PostgresBackend(queue, self._connection, owns_connection=False)

    async def ping(self) -> None:
        await self._connection.run("SELECT 1", [])

    async def present(self, queue: QueueName, ids: Sequence[str]) -> set[str]:
        result = await self._connection.run(PRESENT, [queue, list(ids)])
        return {row[0] for row in result.rows}

    async def return_job(self, locked: LockedJob) -> None:
        result = await self._connection.run(RETURN, [locked.queue, locked.id, locked.token])
        if not result.rows:
            raise TypeError(f"{locked.id} has another lock")

    async def listen(self, queues: Collection[QueueName], wake_signal: WakeSignal) -> None:
        """Every consumer of this database is woken, of any environment: a look costs little."""
        connection = await self._connection.connect()
        try:
            await connection.execute("LISTEN bullmq_jobs")
            wake_signal.wake()  # jobs may have come before
            while True:
                async for notify in connection.notifies(timeout=LISTEN_S):
                    if notify.payload in queues:
                        wake_signal.wake()
        finally:
            await connection.close()

    async def close(self) -> None:
        await self._connection.close()


class QueueConnection:
    """The methods of BullMQ's PostgresConnection that its backend uses."""

    def __init__(self, conninfo: str, schema: str) -> None:
        self.schema = schema
        self._conninfo = conninfo
        self._connection: Connection | None = None
        self._died = False
        """Whether the last connection had been closed when a statement failed on it."""
        self._turn = asyncio.Lock()
        self._preparing = asyncio.Lock()
        self._prepared = False

    async def wait_until_ready(self) -> None:
        if self._prepared:
            return
        deadline = asyncio.get_running_loop().time() + PREPARE_S
        async with asyncio.timeout_at(deadline), self._preparing:
            if self._prepared:
                return
            connection = await psycopg.AsyncConnection.connect(self._conninfo)
            try:
                with shut_down_at(deadline, connection):
                    await run_migrations(connection, self.schema)
            finally:
                await connection.close()
            self._prepared = True

    async def run(self, sql: str, params: Sequence[object]) -> PgResult:
        deadline = asyncio.get_running_loop().time() + ANSWER_S
        async with asyncio.timeout_at(deadline):
            await self._turn.acquire()
        try:
            was_open = self._connection is not None
            try:
                return await self._run(sql, params, deadline)
            except psycopg.OperationalError:
                # The connection may have died while it was idle: try a new one once.
                if not (was_open and self._died):
                    raise
                return await self._run(sql, params, deadline)
        finally:
            self._turn.release()

    async def _run(self, sql: str, params: Sequence[object], deadline: float) -> PgResult:
        if self._connection is None:
            async with asyncio.timeout_at(deadline):
                self._connection = await self.connect()
        connection = self._connection
        try:
            with shut_down_at(deadline, connection):
                async with psycopg.AsyncRawCursor(connection) as cursor:
                    await cursor.execute(sql.encode(), params)
                    columns = [column.name for column in cursor.description or ()]
                    rows = await cursor.fetchall() if columns else []
                    return PgResult(columns, rows, cursor.rowcount)
        except psycopg.Error as fault:
            self._died = connection.closed
            # Also one that is open: after a wipe, its prepared statements fail for ever.
            await self._drop()
            if isinstance(fault, WIPED):
                self._prepared = False
            raise
        except asyncio.CancelledError:
            await self._drop()  # the state of the connection is unknown
            raise

    async def connect(self) -> Connection:
        given = conninfo_to_dict(self._conninfo).get("options") or ""
        settings = SETTINGS | {"search_path": f'"{self.schema}"'}
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        return await psycopg.AsyncConnection.connect(
            self._conninfo, autocommit=True, options=f"{given} {options}".strip()
        )

    async def _drop(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            await connection.close()

    async def close(self) -> None:
        await self._drop()


def conninfo_of(url: str, name: str) -> str:
    try:
        return make_conninfo(
            url, connect_timeout=CONNECT_S, application_name=name[:63], **KEEPALIVE
        )
    except psycopg.ProgrammingError as fault:
        shown = without_secrets(url)
        raise Refused(f"The queue URL {shown} is not understood: {fault}") from None


@contextmanager
def shut_down_at(deadline: float, connection: Connection) -> Iterator[None]:
    """Shuts the socket down: to leave a silent server, psycopg alone takes ten seconds more."""
    timer = asyncio.get_running_loop().call_at(deadline, shut_down, connection)
    try:
        yield
    finally:
        timer.cancel()


def shut_down(connection: Connection) -> None:
    with suppress(OSError, psycopg.Error):
        duplicate = socket.socket(fileno=os.dup(connection.fileno()))
        with duplicate:
            duplicate.shutdown(socket.SHUT_RDWR)
