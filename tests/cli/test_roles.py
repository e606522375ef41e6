"""O5: a role that meets tables of another version says so in one line, and ends."""

import asyncpg
import pytest

from tests.cli.conftest import Deemster
from tests.conftest import NewDatabase


@pytest.mark.parametrize("role", ["api", "relay", "worker", "keeper", "dispatcher"])
def test_a_database_without_tables_is_refused_in_one_line(
    operate: Deemster, new_database: NewDatabase, monkeypatch: pytest.MonkeyPatch, role: str
) -> None:
    with new_database("template0") as url:
        monkeypatch.setenv("DEEMSTER_DATABASE_URL", url)
        done = operate(role)
    assert done.code == 2
    [line] = done.err.splitlines()
    assert line.startswith("deemster: The database tables are older")
    assert "run `deemster migrate` first" in line


async def test_a_newer_database_is_refused_in_one_line(
    operate: Deemster, database_url: str
) -> None:
    opened = await asyncpg.connect(database_url)
    await opened.execute("INSERT INTO migration VALUES (9999, '9999_later', 'x')")
    await opened.close()
    done = operate("relay")
    assert done.code == 2
    [line] = done.err.splitlines()
    assert "made by a newer Deemster" in line
