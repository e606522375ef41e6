"""Verifies a backup: restores it into a database that exists only for this (O9)."""

import tempfile
from pathlib import Path, PurePosixPath

from deemster.domain.errors import Refused
from deemster.store.backup.archive import ARTIFACTS, Manifest, Reader
from deemster.store.backup.restore import OnBytes, check_backup, restore_database
from deemster.store.backup.stores import missing_artifacts, newest_migration
from deemster.store.embedded import run_cluster


async def verify_backup(source: Path, on_bytes: OnBytes) -> Manifest:
    """Raises Refused if the backup can't be restored; changes no other database."""
    manifest = await check_backup(source, on_bytes)
    with tempfile.TemporaryDirectory(prefix="deemster-verify-") as directory:
        async with run_cluster(Path(directory), settings={"fsync": "off"}) as cluster:
            await restore_database(cluster.url, source, "")
            tables = await newest_migration(cluster.url)
            if tables != manifest.tables:
                raise Refused(
                    f"{source} has the tables of migration {tables}, but its manifest names "
                    f"{manifest.tables}: use another copy of it."
                )
            present = artifacts_of(source)
            missing = await missing_artifacts(cluster.url, present) if present else []
    if missing:
        raise Refused(
            f"{source} lacks sources or judgements ({', '.join(missing)}): make another backup."
        )
    return manifest


def artifacts_of(source: Path) -> set[str]:
    """Digests of the artifacts; empty if the backup was made without them."""
    return {
        PurePosixPath(member.name).name
        for member in Reader(source).members()
        if member.name.startswith(ARTIFACTS)
    }
