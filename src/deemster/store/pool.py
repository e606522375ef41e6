"""Connections to Postgres, and the named statements in `sql/`; outages raise `DatabaseDown`."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

import aiosql
import asyncpg
from aiosql.adapters.asyncpg import AsyncPGAdapter

from deemster.domain.errors import Unavailable

HERE = Path(__file__).parent / "sql"


if TYPE_CHECKING:  # generic for the type checker only
    OwnConnection = asyncpg.Connection[asyncpg.Record]
    Connection = OwnConnection | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]
    Pool = asyncpg.Pool[asyncpg.Record]
else:
    OwnConnection = Connection = asyncpg.Connection
    Pool = asyncpg.Pool

CONNECT_TIMEOUT_S: Final = 10
COMMAND_TIMEOUT_S: Final = 30
IDLE_TRANSACTION_S: Final = 5
"""The server ends a transaction that is idle for this time: a machine that froze within one
must not keep its locks. While a statement is being prepared, none counts as idle: these are
ended by the keeper (`frozen_clients.py`)."""
OUTAGES = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # a connection that the server has just ended, used at once
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.TransactionRollbackError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.InvalidSchemaNameError,
    asyncpg.UndefinedTableError,
    asyncpg.UndefinedColumnError,
)
"""The server is down, starting, stopping, full or not migrated yet, or two transactions were in
a deadlock."""


UNSTORABLE = (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError)
"""The server does not take the values: another try would fail in the same way."""
REFUSALS = (
    asyncpg.InvalidAuthorizationSpecificationError,  # also a wrong password
    asyncpg.InsufficientPrivilegeError,
)
"""The server answers, but not to this role, or not with what the role asks for."""


class DatabaseDown(Unavailable):
    code: ClassVar[str] = "database_down"


class DatabaseRefuses(DatabaseDown):
    """The server runs, and waiting alone will not help."""


@contextmanager
def outages_as_errors() -> Iterator[None]:
    try:
        yield
    except REFUSALS as fault:
        raise DatabaseRefuses(
            f"The database refuses this ({fault}): check the role and the password in "
            "DEEMSTER_DATABASE_URL and DEEMSTER_MIGRATION_DATABASE_URL; `deemster migrate` "
            "grants what the role of the service needs."
        ) from fault
    except asyncpg.TransactionRollbackError as fault:
        raise DatabaseDown(
            "Another request changed the same rows at this moment: try again."
        ) from fault
    except OUTAGES as fault:
        raise DatabaseDown(
            f"The database can't be used ({type(fault).__name__}: {fault}): check that "
            "Postgres runs, that `deemster migrate` was run and that DEEMSTER_DATABASE_URL is "
            "right; then try again."
        ) from fault


async def connect(url: str) -> OwnConnection:
    """Opens a connection outside the pool: for migrations and for LISTEN."""
    with outages_as_errors():
        return await asyncpg.connect(
            url, timeout=CONNECT_TIMEOUT_S, command_timeout=COMMAND_TIMEOUT_S
        )


@asynccontextmanager
async def open_pool(
    url: str, *, name: str, max_size: int = 10, durable: bool = True
) -> AsyncIterator[Pool]:
    """Does not wait for the server; each use raises `DatabaseDown` if it is down.

    Without `durable`, a commit does not wait for the disk, and a crash of the server may undo
    the last ones; never one that a durable commit of anybody follows.
    """
    pool = asyncpg.create_pool(
        url,
        min_size=0,
        max_size=max_size,
        timeout=CONNECT_TIMEOUT_S,
        command_timeout=COMMAND_TIMEOUT_S,
        init=set_json_codecs,
        reset=skip_reset,
        server_settings={
            "application_name": f"deemster {name}",
            "idle_in_transaction_session_timeout": f"{IDLE_TRANSACTION_S}s",
            **({} if durable else {"synchronous_commit": "off"}),
        },
    )
    await pool
    try:
        yield pool
    finally:
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                await pool.close()
        except OUTAGES:
            pool.terminate()


async def skip_reset(_connection: Connection) -> None:
    """Saves the round trip of asyncpg's reset: nothing but a transaction outlives a statement
    here, and open ones are rolled back before.
    """


async def set_json_codecs(connection: Connection) -> None:
    for kind in ("json", "jsonb"):
        await connection.set_type_codec(
            kind, encoder=json.dumps, decoder=json.loads, schema="pg_catalog"
        )


@asynccontextmanager
async def connection(pool: Pool) -> AsyncIterator[Connection]:
    """Lends a connection without a transaction: each statement commits by itself."""
    with outages_as_errors():
        # Not by asyncpg's own timeout, for which it creates a task each time.
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            acquired = await pool.acquire()
        try:
            yield acquired
        finally:
            await pool.release(acquired, timeout=CONNECT_TIMEOUT_S)


async def ping(pool: Pool) -> None:
    async with connection(pool) as acquired:
        await acquired.execute("SELECT 1")


@asynccontextmanager
async def transaction(pool: Pool) -> AsyncIterator[Connection]:
    async with connection(pool) as acquired, acquired.transaction():
        yield acquired


AlsoWrite = Callable[[Connection], Awaitable[None]]
"""Writes something in a transaction of somebody else, so that both are written or none."""


async def write_nothing(_: Connection) -> None:
    pass


class Adapter(AsyncPGAdapter):
    """Takes connections only: aiosql's adapter checks for a pool with each statement."""

    async def select(
        self, conn: Any, query_name: str, sql: str, parameters: Any, record_class: Any = None
    ) -> AsyncGenerator[Any, None]:
        for row in await conn.fetch(sql, *self._in_order(query_name, parameters)):
            yield row

    async def select_one(
        self, conn: Any, query_name: str, sql: str, parameters: Any, record_class: Any = None
    ) -> Any:
        return await conn.fetchrow(sql, *self._in_order(query_name, parameters))

    async def select_value(self, conn: Any, query_name: str, sql: str, parameters: Any) -> Any:
        return await conn.fetchval(sql, *self._in_order(query_name, parameters))

    async def insert_update_delete(
        self, conn: Any, query_name: str, sql: str, parameters: Any
    ) -> Any:
        return await conn.execute(sql, *self._in_order(query_name, parameters))

    def _in_order(self, query_name: str, parameters: dict[str, Any]) -> list[Any]:
        return [parameters[name] for name in self.var_sorted[query_name]]


def statements(name: str) -> Any:
    """Each statement of `sql/<name>.sql` becomes a function of a connection and parameters."""
    return aiosql.from_path(HERE / f"{name}.sql", Adapter, mandatory_parameters=False)


def rows_changed(status: str) -> int:
    """Reads the number from a status such as `UPDATE 1`."""
    return int(status.rsplit(" ", 1)[-1])
