"""Writes a backup: the database first, then the artifacts, so that none is missing."""

import asyncio
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import IO

from deemster import __version__
from deemster.domain.errors import Refused
from deemster.settings import Settings
from deemster.store.artifacts.backend import ArtifactBackend, ArtifactEntry, ArtifactMissing
from deemster.store.artifacts.files import sync_directory
from deemster.store.backup.archive import ARTIFACTS, DATABASE, SECRET, Manifest, Writer
from deemster.store.backup.dump import dumped
from deemster.store.backup.sources import open_depot, reading
from deemster.store.pool import connect
from deemster.store.preflight import newest_migration

FOLDERS = ("content", "revisions")


async def write_backup(
    settings: Settings, target: Path, on_bytes: Callable[[int], None], *, artifacts: bool
) -> Manifest:
    async with reading(settings) as url:
        tables = await tables_of(url)
        with fresh_file(target) as file, Writer.open(file) as writer:
            number = 0
            async for piece in dumped(url):
                writer.add(f"{DATABASE}{number:06}", [piece], len(piece))
                number += 1
                on_bytes(writer.count.bytes)
            add_secret(writer, settings)
            if artifacts:
                depot = open_depot(settings)
                for entry in entries_of(depot):
                    add_artifact(writer, depot, entry)
                    on_bytes(writer.count.bytes)
                    await asyncio.sleep(0)  # a Ctrl-C is heard here
            return writer.finish(__version__, tables)


async def tables_of(url: str) -> int:
    connection = await connect(url)
    try:
        return await newest_migration(connection)
    finally:
        await connection.close()


def add_secret(writer: Writer, settings: Settings) -> None:
    with suppress(FileNotFoundError):
        secret = (settings.data_dir / SECRET).read_bytes()
        writer.add(SECRET, [secret], len(secret))


def entries_of(depot: ArtifactBackend) -> Iterator[ArtifactEntry]:
    for folder in FOLDERS:
        for batch in depot.list(folder):
            yield from batch


def add_artifact(writer: Writer, depot: ArtifactBackend, entry: ArtifactEntry) -> None:
    """One that is swept meanwhile was referred to by nothing, in the dump neither."""
    chunks = depot.read(entry.name)
    try:
        first = next(chunks, b"")
    except ArtifactMissing:
        return
    writer.add(ARTIFACTS + entry.name, chain([first], chunks), entry.size_bytes)


@contextmanager
def fresh_file(target: Path) -> Iterator[IO[bytes]]:
    """Gets its name when it is whole and on the disk; for its owner's eyes only."""
    if target.exists():
        raise Refused(f"{target} is there already: choose another name, or move it away.")
    try:
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as fault:
        raise Refused(
            f"Nothing can be written to {target.parent} ({fault.strerror}): choose another "
            "place."
        ) from fault
    fresh = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        fresh.rename(target)
        sync_directory(target.parent)
    except OSError as fault:
        raise Refused(
            f"{target} can't be written ({fault.strerror}): make room, or choose another place."
        ) from fault
    finally:
        fresh.unlink(missing_ok=True)
