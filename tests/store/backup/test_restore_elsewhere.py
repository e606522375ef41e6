"""Backups are restored into other versions of Postgres, and verified in a scratch database."""

from pathlib import Path

import psycopg
import pytest

from deemster.domain.errors import Refused
from deemster.store.artifacts import Artifacts
from deemster.store.backup.restore import restore_backup
from deemster.store.backup.verify import verify_backup
from deemster.store.backup.write import write_backup
from deemster.store.pool import open_pool
from tests.services.old_postgres import other_binaries, other_server
from tests.store.backup.test_backup import (
    Service,
    file,
    ignore,
    service,
    settings_of,
    visible_state,
)

__all__ = ["file", "service"]


@pytest.mark.parametrize("binaries", other_binaries(), ids=str)
async def test_o9_a_backup_restores_into_another_postgres_and_comes_back(
    service: Service,
    file: Path,
    tmp_path: Path,
    binaries: Path,
) -> None:
    """O9: also again with --force, by an owner who is no superuser, and from there back."""
    artifacts = Artifacts.open(None, service.settings.data_dir)
    before = await visible_state(service.pool, artifacts, service.ids)
    await write_backup(service.settings, file, ignore, artifacts=True)
    with other_server(binaries) as url:
        elsewhere = settings_of(tmp_path / "new", url)
        for force in (False, True):
            await restore_backup(elsewhere, file, ignore, force=force)
        async with open_pool(url, name="test") as pool:
            there = Artifacts.open(None, elsewhere.data_dir)
            assert await visible_state(pool, there, service.ids) == before
        assert (elsewhere.data_dir / "secret.key").read_text() == "the key\n"
        await write_backup(elsewhere, tmp_path / "back.tar", ignore, artifacts=True)
    manifest = await verify_backup(tmp_path / "back.tar", ignore)
    assert manifest.members > 0


async def test_o9_a_backup_that_lacks_an_artifact_is_not_verified(
    service: Service,
    file: Path,
    tmp_path: Path,
    database_url: str,
) -> None:
    await write_backup(service.settings, file, ignore, artifacts=True)
    assert (await verify_backup(file, ignore)).tables > 0
    with psycopg.connect(database_url, autocommit=True) as link:
        link.execute("DELETE FROM artifact")
    incomplete = tmp_path / "incomplete.tar"
    await write_backup(service.settings, incomplete, ignore, artifacts=True)
    with pytest.raises(Refused, match="lacks sources or judgements"):
        await verify_backup(incomplete, ignore)
