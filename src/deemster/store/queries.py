"""Loads the named SQL statements of a file in `sql/` as functions."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import aiosql
from aiosql.adapters.asyncpg import AsyncPGAdapter

HERE = Path(__file__).parent / "sql"


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
