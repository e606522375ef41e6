"""O5: a restored backup has the same submissions, verdicts and sources."""

import stat
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from deemster.domain.errors import Refused
from deemster.domain.ids import (
    CODE_SESSION,
    AccountId,
    CodeSessionId,
    SubmissionId,
    new_id,
)
from deemster.domain.submission import SubmissionView
from deemster.domain.verdict import Verdict
from deemster.pipeline.accept.available_languages import AvailableLanguages
from deemster.pipeline.accept.submissions import AcceptService, SubmitRequest
from deemster.pipeline.verdict.attempt import settle
from deemster.programs.build.languages import load_catalogue
from deemster.settings import Settings, load_settings
from deemster.store import code_sessions, counters, executions, submissions
from deemster.store.artifacts import Artifacts
from deemster.store.backup.restore import restore_backup
from deemster.store.backup.write import write_backup
from deemster.store.embedded import run_cluster
from deemster.store.inline_artifacts import INLINE_MAX_BYTES, fetch
from deemster.store.pool import Pool, connection, open_pool, transaction
from tests.builders import (
    end_execution,
    judged,
    make_execution,
    make_person,
    make_problem,
    queue_submission,
    start_execution,
    start_submission,
    write_output,
)
from tests.conftest import NewDatabase

LARGE = b"# " + b"x" * (INLINE_MAX_BYTES + 10) + b"\n"


@dataclass(frozen=True, slots=True)
class Service:
    """A service with one submission of each kind."""

    settings: Settings
    pool: Pool
    ids: list[SubmissionId]


def settings_of(directory: Path, url: str | None) -> Settings:
    return load_settings(data_dir=directory, work_dir=directory / "work", database_url=url)


async def fill(pool: Pool, artifacts: Artifacts) -> list[SubmissionId]:
    summary = await make_problem(pool)
    async with connection(pool) as acquired:
        await acquired.execute("UPDATE problem_revision SET source_bytes = $1", 1 << 20)
    account = await make_person(pool)
    accept = AcceptService(
        pool, artifacts, load_catalogue(), AvailableLanguages(pool), on_accepted=lambda: None
    )
    ids = []
    for content in (b"print(1)\n", LARGE, b"print(2)\n"):
        accepted, _ = await accept.submit(
            account, SubmitRequest(summary.id, "python3", {"": content})
        )
        ids.append(accepted.id)
    for submission, verdict in zip(ids, (Verdict.ACCEPTED, Verdict.WRONG_ANSWER), strict=False):
        await queue_submission(pool, submission)
        running = await start_submission(pool, submission)
        await settle(pool, artifacts, running, judged(verdict))
    await fill_executions(pool, account.id)
    return ids


async def fill_executions(pool: Pool, account: AccountId) -> None:
    """One that has ended, and one of a session that runs."""
    session = CodeSessionId(new_id(CODE_SESSION))
    async with transaction(pool) as writing:
        await code_sessions.add(writing, session, account, language="c", source="x", most=1)
    for of_session in (None, session):
        execution = await make_execution(pool, account, session=of_session)
        running = await start_execution(pool, execution)
        await write_output(pool, running, b"one\n", b"\xff\0")
        async with connection(pool) as acquired:
            await executions.add_input(acquired, execution, "data", b"typed", key="k")
        if of_session is None:
            await end_execution(pool, running)


async def visible_state(pool: Pool, artifacts: Artifacts, ids: list[SubmissionId]) -> list[Any]:
    """Reads what users see of the submissions."""
    found: list[Any] = []
    async with connection(pool) as acquired:
        assert not await counters.find_mismatches(acquired)
        for each in ids:
            view = await submissions.get(acquired, each)
            assert isinstance(view, SubmissionView)
            details = await submissions.submission_details(acquired, each)
            assert details is not None
            found.append((view, await fetch(acquired, artifacts, details.source)))
    return found


async def visible_executions(pool: Pool) -> list[Any]:
    """Reads executions with their output, what was typed, and their session."""
    found: list[Any] = []
    async with connection(pool) as acquired:
        for view in await executions.page(acquired, account=None, before=None, limit=9):
            output = await executions.output_after(acquired, view.id)
            typed = await executions.input_after(acquired, view.id, 0)
            session = view.session and await code_sessions.get(
                acquired, view.session, view.account
            )
            found.append((view, output, typed, session))
    return found


@pytest.fixture
async def service(tmp_path: Path, database_url: str) -> AsyncIterator[Service]:
    settings = settings_of(tmp_path / "old", database_url)
    settings.data_dir.mkdir()
    (settings.data_dir / "secret.key").write_text("the key\n")
    async with open_pool(database_url, name="test") as pool:
        ids = await fill(pool, Artifacts.open(None, settings.data_dir))
        yield Service(settings, pool, ids)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "backup.tar"


def ignore(_: int) -> None:
    pass


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


async def test_o5_a_fresh_data_directory_gets_everything_back(
    service: Service, file: Path, tmp_path: Path
) -> None:
    """O5: with an embedded database of its own, made for it."""
    before = await visible_state(
        service.pool, Artifacts.open(None, service.settings.data_dir), service.ids
    )
    await write_backup(service.settings, file, ignore, artifacts=True)
    assert mode_of(file) == 0o600
    fresh = settings_of(tmp_path / "new", None)
    await restore_backup(fresh, file, ignore, force=False)
    async with (
        run_cluster(fresh.data_dir, settings={"fsync": "off"}) as cluster,
        open_pool(cluster.url, name="test") as pool,
    ):
        after = await visible_state(pool, Artifacts.open(None, fresh.data_dir), service.ids)
        restored = await visible_executions(pool)
    assert after == before
    assert restored == await visible_executions(service.pool)
    assert [len(output) for _, output, _, _ in restored] == [2, 2]
    assert [view.verdict for view, _ in after] == [Verdict.ACCEPTED, Verdict.WRONG_ANSWER, None]
    assert LARGE in after[1][1]
    assert (fresh.data_dir / "secret.key").read_text() == "the key\n"
    assert mode_of(fresh.data_dir / "secret.key") == 0o600


async def test_a_database_that_is_not_empty_is_spared_unless_forced(
    service: Service, file: Path, tmp_path: Path, new_database: NewDatabase, template: str
) -> None:
    await write_backup(service.settings, file, ignore, artifacts=True)
    with new_database(template) as url:
        target = settings_of(tmp_path / "new", url)
        with psycopg.connect(url, autocommit=True) as link:
            link.execute("CREATE TABLE left_over ()")
        with pytest.raises(Refused, match="not empty"):
            await restore_backup(target, file, ignore, force=False)
        await restore_backup(target, file, ignore, force=True)
        with psycopg.connect(url) as link:
            assert link.execute("SELECT to_regclass('left_over')").fetchone() == (None,)
        async with open_pool(url, name="test") as pool:
            artifacts = Artifacts.open(None, target.data_dir)
            assert len(await visible_state(pool, artifacts, service.ids)) == 3


async def test_a_database_in_use_is_not_replaced(
    service: Service, file: Path, tmp_path: Path, new_database: NewDatabase, template: str
) -> None:
    await write_backup(service.settings, file, ignore, artifacts=True)
    with new_database(template) as url:
        async with open_pool(url, name="worker") as pool, connection(pool):
            target = settings_of(tmp_path / "new", url)
            with pytest.raises(Refused, match="in use by deemster worker"):
                await restore_backup(target, file, ignore, force=True)


async def test_a_damaged_backup_changes_nothing(
    service: Service, file: Path, tmp_path: Path
) -> None:
    await write_backup(service.settings, file, ignore, artifacts=True)
    damage(file)
    fresh = settings_of(tmp_path / "new", None)
    with pytest.raises(Refused, match="damaged"):
        await restore_backup(fresh, file, ignore, force=True)
    assert not fresh.data_dir.exists()


async def test_a_failing_load_leaves_the_database_as_it_was(
    service: Service, file: Path, tmp_path: Path, new_database: NewDatabase, template: str
) -> None:
    """The load is one transaction: the tables it dropped are back."""
    await write_backup(service.settings, file, ignore, artifacts=True)
    with new_database(template) as url:
        with psycopg.connect(url, autocommit=True) as link:
            link.execute("CREATE TABLE public.precious AS SELECT 1 AS one")
            link.execute(
                "CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS "
                "$$ BEGIN RAISE 'no room for %', tg_tag; END $$"
            )
            link.execute("CREATE SCHEMA aside")
            link.execute("ALTER FUNCTION refuse() SET SCHEMA aside")
            link.execute(
                "CREATE EVENT TRIGGER no_indexes ON ddl_command_start "
                "WHEN TAG IN ('CREATE INDEX') EXECUTE FUNCTION aside.refuse()"
            )
        target = settings_of(tmp_path / "new", url)
        target.data_dir.mkdir()
        (target.data_dir / "secret.key").write_text("old key\n")
        with pytest.raises(Exception, match="no room for CREATE INDEX"):
            await restore_backup(target, file, ignore, force=True)
        with psycopg.connect(url) as link:
            assert link.execute("SELECT one FROM public.precious").fetchone() == (1,)
    assert (target.data_dir / "secret.key").read_text() == "old key\n", "O9: it needs its key"


async def test_a_backup_does_not_replace_a_file(service: Service, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="exists already"):
        await write_backup(service.settings, tmp_path / "old", ignore, artifacts=True)


async def test_a_backup_that_fails_leaves_no_file(service: Service, file: Path) -> None:
    def fail(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await write_backup(service.settings, file, fail, artifacts=True)
    assert sorted(path.name for path in file.parent.iterdir()) == ["old"]


async def test_without_a_database_there_is_nothing_to_back_up(
    file: Path, tmp_path: Path
) -> None:
    with pytest.raises(Refused, match="There is no database"):
        await write_backup(settings_of(tmp_path / "void", None), file, ignore, artifacts=True)
