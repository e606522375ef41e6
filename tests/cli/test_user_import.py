"""K4: `deemster user import` and `deemster user link`."""

import csv
from pathlib import Path

import pytest

from deemster.store import log_in_links
from deemster.store.pool import Pool, connection
from tests.cli.conftest import Deemster


async def test_a_class_is_imported_with_csv_and_sheet(
    operate: Deemster, pool: Pool, here: Path
) -> None:
    (here / "class.csv").write_text("name,Full name\nada,Ada Lovelace\nbob,Bob\n")
    options = ("--output", "out.csv", "--sheet", "out.html", "--url", "https://judge.example")
    done = operate("user", "import", "class.csv", *options)
    assert done.code == 0, done.err
    assert "Created 2 accounts." in done.err
    assert done.out == b""
    rows = list(csv.DictReader((here / "out.csv").read_text().splitlines()))
    assert [(row["name"], row["Full name"]) for row in rows] == [
        ("ada", "Ada Lovelace"),
        ("bob", "Bob"),
    ]
    assert rows[0]["link"].startswith("https://judge.example/log-in/")
    assert rows[0]["link"] in (here / "out.html").read_text()
    assert (here / "out.csv").stat().st_mode & 0o077 == 0
    async with connection(pool) as acquired:
        account = await log_in_links.use(acquired, rows[0]["link"].rpartition("/")[2])
    assert account is not None
    assert account.name == "ada"
    again = operate("user", "import", "class.csv", *options)
    assert again.code == 2
    assert "out.csv exists" in again.err
    kept = operate("user", "import", "class.csv")
    assert "2 existed and were not changed" in kept.err


async def test_a_link_for_one_account(
    operate: Deemster, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert operate("user", "add", "ada").code == 0
    monkeypatch.setenv("DEEMSTER_URL", "http://127.0.0.1:8123/")
    link = operate("user", "link", "ada").out.decode().strip()
    assert link.startswith("http://127.0.0.1:8123/log-in/")
    async with connection(pool) as acquired:
        account = await log_in_links.use(acquired, link.rpartition("/")[2])
    assert account is not None
    assert account.name == "ada"
    assert "no account bob" in operate("user", "link", "bob").err
