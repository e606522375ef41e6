"""O5: a role that meets tables of another version says so in one line, and ends."""

from pathlib import Path

import asyncpg
import pytest

from tests.conftest import NewDatabase
from tests.services.role_process import start_role


async def refusal(role: str, environment: dict[str, str], directory: Path, url: str) -> str:
    """The only line of a role that ends by itself."""
    log = directory / "log"
    process = await start_role(role, {**environment, "DEEMSTER_DATABASE_URL": url}, log)
    assert await process.wait() == 2
    [line] = log.read_text().splitlines()
    return line


@pytest.mark.parametrize("role", ["api", "worker", "keeper"])
async def test_a_database_without_tables_is_refused_in_one_line(
    environment: dict[str, str], tmp_path: Path, new_database: NewDatabase, role: str
) -> None:
    with new_database("template0") as url:
        line = await refusal(role, environment, tmp_path, url)
    assert line.startswith("deemster: The database tables are older")
    assert "run `deemster migrate` first" in line


async def test_a_newer_database_is_refused_in_one_line(
    environment: dict[str, str], tmp_path: Path, database_url: str
) -> None:
    opened = await asyncpg.connect(database_url)
    await opened.execute("INSERT INTO migration VALUES (9999, '9999_later', 'x')")
    await opened.close()
    assert "made by a newer Deemster" in await refusal(
        "relay", environment, tmp_path, database_url
    )
