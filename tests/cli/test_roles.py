"""O5: a role that meets tables of another version says so in one line, and ends."""

import asyncpg
import pytest

from tests.cli.conftest import Deemster
from tests.conftest import NewDatabase

# As processes: a role changes the user of its process for good.


@pytest.mark.parametrize("role", ["api", "worker", "keeper"])
def test_a_database_without_tables_is_refused_in_one_line(
    deemster: Deemster, new_database: NewDatabase, role: str
) -> None:
    with new_database("template0") as url:
        done = deemster(role, DEEMSTER_DATABASE_URL=url)
    assert done.code == 2
    [line] = done.err.splitlines()
    assert line.startswith("deemster: The database tables are older")
    assert "run `deemster migrate` first" in line


async def test_a_newer_database_is_refused_in_one_line(
    deemster: Deemster, database_url: str
) -> None:
    opened = await asyncpg.connect(database_url)
    await opened.execute("INSERT INTO migration VALUES (9999, '9999_later', 'x')")
    await opened.close()
    done = deemster("relay", DEEMSTER_DATABASE_URL=database_url)
    assert done.code == 2
    [line] = done.err.splitlines()
    assert "made by a newer Deemster" in line
