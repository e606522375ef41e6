"""SQL by name: each file of `sql/` is one set of statements."""

from pathlib import Path
from typing import Any

import aiosql

HERE = Path(__file__).parent / "sql"


def statements(name: str) -> Any:
    """The statements of `sql/<name>.sql`, as functions of a connection and their parameters."""
    return aiosql.from_path(HERE / f"{name}.sql", "asyncpg", mandatory_parameters=False)


def changed(status: str) -> int:
    """How many rows a statement changed, from what Postgres answers: `UPDATE 1`."""
    return int(status.rsplit(" ", 1)[-1])
