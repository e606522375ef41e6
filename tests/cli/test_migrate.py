"""`deemster migrate` applies all migrations once (O5)."""

import psycopg

from deemster.store.migrations import shipped
from tests.cli.conftest import Deemster


def test_o5_an_empty_database_is_migrated_once(operate: Deemster, database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    names = [each.name for each in shipped()]
    dry_run = operate("migrate", "--dry-run")
    assert dry_run.out.decode().splitlines() == [f"would apply {name}" for name in names]
    early = operate("user", "list")
    assert "run `deemster migrate` first" in early.err
    real_run = operate("migrate")
    assert real_run.out.decode().splitlines() == [f"applied {name}" for name in names]
    assert operate("migrate").out == b"The database is up to date.\n"
