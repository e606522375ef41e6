"""O5: a role that meets tables of another version says so in one line, and ends."""

import json
from pathlib import Path

import asyncpg
import pytest

from tests.cli.conftest import Deemster
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


async def test_a_role_warns_of_an_unknown_variable_unless_its_supervisor_has(
    deemster: Deemster,
    environment: dict[str, str],
    tmp_path: Path,
    new_database: NewDatabase,
) -> None:
    misspelt = {"DEEMSTER_DATADIR": "/x"}
    with new_database("template0") as url:
        alone = deemster("relay", DEEMSTER_DATABASE_URL=url, **misspelt)
        supervised = await refusal("relay", {**environment, **misspelt}, tmp_path, url)
    warning, cause = alone.err.splitlines()
    logged = json.loads(warning)
    assert (logged["event"], logged["variable"], logged["role"], logged["level"]) == (
        *("settings.unknown_variable", "DEEMSTER_DATADIR"),
        *("relay", "warning"),
    )
    assert cause == supervised, "its only line"
