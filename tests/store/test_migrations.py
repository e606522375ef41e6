"""O5: migrations run once, in order, under a lock, and have a dry run."""

import asyncio
from pathlib import Path

import asyncpg
import pytest

from deemster.domain.errors import Refused
from deemster.domain.ids import AccountId, SubmissionId
from deemster.domain.lifecycle import Event, State
from deemster.domain.verdict import Verdict
from deemster.store import executions, outbox, submissions
from deemster.store.lifecycle import advance
from deemster.store.migrations import apply, migrate, shipped
from deemster.store.pool import connection, open_pool
from tests.builders import end_execution, make_execution, start_execution
from tests.conftest import NewDatabase


@pytest.fixture
def empty_url(new_database: NewDatabase) -> object:
    with new_database("template0") as url:
        yield url


async def tables(url: str) -> set[str]:
    opened = await asyncpg.connect(url)
    try:
        rows = await opened.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        return {row["tablename"] for row in rows}
    finally:
        await opened.close()


async def test_many_processes_migrate_once(empty_url: str) -> None:
    done = await asyncio.gather(*[migrate(empty_url) for _ in range(8)])
    assert sorted(map(len, done)) == [0] * 7 + [len(shipped())]
    assert {"work", "outbox", "migration"} <= await tables(empty_url)


async def test_a_dry_run_lists_migrations_and_changes_nothing(empty_url: str) -> None:
    assert await migrate(empty_url, dry_run=True) == shipped()
    assert await tables(empty_url) == set()


def test_no_two_migrations_have_the_same_number() -> None:
    """The second one would never be applied."""
    numbers = [each.version for each in shipped()]
    assert numbers == sorted(set(numbers))


async def test_a_database_of_a_newer_version_is_refused(database_url: str) -> None:
    opened = await asyncpg.connect(database_url)
    await opened.execute("INSERT INTO migration VALUES (9999, '9999_later', 'x')")
    await opened.close()
    with pytest.raises(Refused, match="newer Deemster"):
        await migrate(database_url)


async def test_a_changed_migration_is_refused(database_url: str) -> None:
    opened = await asyncpg.connect(database_url)
    await opened.execute("UPDATE migration SET digest = 'other'")
    await opened.close()
    with pytest.raises(Refused, match="another migration"):
        await migrate(database_url)


async def test_names_that_differ_only_in_case_are_refused(empty_url: str) -> None:
    """O6: only the operator knows which account keeps the name."""
    opened = await asyncpg.connect(empty_url)
    await apply(opened, [each for each in shipped() if each.version < 4])
    await opened.execute(
        "INSERT INTO account (id, name, role)"
        " VALUES ('usr_1', 'ada', 'user'), ('usr_2', 'Ada', 'user'), ('usr_3', 'bob', 'user')"
    )
    with pytest.raises(Refused, match=r"these do: ada and Ada\. Rename one of each"):
        await migrate(empty_url)
    await opened.execute("UPDATE account SET name = 'Ada-2' WHERE name = 'Ada'")
    await opened.close()
    assert (await migrate(empty_url))[0].version == 4


BEFORE_EXECUTIONS = Path(__file__).with_name("before_executions.sql")
KEPT = ("work", "work_event", "judgement", "lease", "outbox", "dead_letter", "webhook_attempt")


async def test_o5_submissions_from_before_executions_are_kept(empty_url: str) -> None:
    opened = await asyncpg.connect(empty_url)
    await apply(opened, [each for each in shipped() if each.version < 6])
    await opened.execute(BEFORE_EXECUTIONS.read_text())
    await migrate(empty_url)
    found = {name: await opened.fetchval(f"SELECT count(*) FROM {name}") for name in KEPT}
    assert found == {**dict.fromkeys(KEPT, 1), "work": 4}
    async with open_pool(empty_url, name="test") as pool, connection(pool) as acquired:
        view = await submissions.get(acquired, SubmissionId("sub_1"))
        assert view is not None
        assert (view.verdict, view.state) == (Verdict.ACCEPTED, State.COMPLETED)
        due = await outbox.claim(acquired, limit=9, claim_s=9)
        assert [each.job.work for each in due] == ["sub_4"]
        await advance(acquired, Event.RESCUE, SubmissionId("sub_2"), 1)
        execution = await make_execution(pool, AccountId("usr_1"))
        await end_execution(pool, await start_execution(pool, execution))
        assert await executions.delete_ended(acquired, older_than_s=0, limit=9) == 1
    assert await opened.fetchval("SELECT count(*) FROM work") == 4
    await opened.close()
