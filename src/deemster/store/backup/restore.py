"""Restores a backup: checks all of it first, then restores the artifacts, then the database."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.private_file import write_private
from deemster.settings import Settings
from deemster.store.artifacts.backend import ArtifactBackend
from deemster.store.backup.archive import ARTIFACTS, DATABASE, SECRET, Manifest, Reader
from deemster.store.backup.dump import load
from deemster.store.backup.stores import (
    known_settings,
    open_artifacts,
    prepare_restore,
    writable_database,
)
from deemster.store.migrations import shipped

OnBytes = Callable[[int], None]


async def restore_backup(
    settings: Settings, source: Path, on_bytes: OnBytes, *, force: bool
) -> Manifest:
    manifest = await check_backup(source, on_bytes)
    if manifest.tables > shipped()[-1].version:
        raise Refused(
            f"{source} was made by a newer Deemster ({manifest.deemster}): restore it with "
            "that version."
        )
    async with writable_database(settings) as url:
        first = await prepare_restore(url, force=force)
        secret = await restore_artifacts(open_artifacts(settings), source, on_bytes)
        await restore_database(url, source, first)
        # Last: if the restore failed, the old database still needs the old key.
        if secret is not None:
            write_private(settings.data_dir / SECRET, secret.decode().rstrip("\n"))
    return manifest


async def check_backup(source: Path, on_bytes: OnBytes) -> Manifest:
    """Reads all of it, so that nothing is changed by a damaged backup."""
    reader = Reader(source)
    for member in reader.members():
        for _ in member.chunks:
            on_bytes(reader.count.bytes)
            await asyncio.sleep(0)
    return reader.check()


async def restore_artifacts(
    backend: ArtifactBackend, source: Path, on_bytes: OnBytes
) -> bytes | None:
    """Call it before the rows that refer to the artifacts are restored. Returns the secret key
    of the backup, if it has one.
    """
    secret = None
    reader = Reader(source)
    for member in reader.members():
        if member.name == SECRET:
            secret = b"".join(member.chunks)
        elif member.name.startswith(ARTIFACTS):
            name = member.name.removeprefix(ARTIFACTS)
            backend.write(name, member.chunks, member.size_bytes)
        on_bytes(reader.count.bytes)
        await asyncio.sleep(0)
    reader.check()
    return secret


async def restore_database(url: str, source: Path, first: str) -> None:
    reader = Reader(source)

    def chunks() -> Iterator[bytes]:
        for member in reader.members():
            if member.name.startswith(DATABASE):
                yield from member.chunks

    await load(url, chunks(), first, reader.check, await known_settings(url))
