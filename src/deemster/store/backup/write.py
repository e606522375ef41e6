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
from deemster.store.backup.dump import dump
from deemster.store.backup.stores import newest_migration, open_artifacts, readable_database

FOLDERS = ("content", "revisions")


async def write_backup(
    settings: Settings, target: Path, on_bytes: Callable[[int], None], *, artifacts: bool
) -> Manifest:
    async with readable_database(settings) as url:
        tables = await newest_migration(url)
        with new_file(target) as file, Writer.open(file) as writer:
            number = 0
            async for chunk in dump(url):
                writer.add(f"{DATABASE}{number:06}", [chunk], len(chunk))
                number += 1
                on_bytes(writer.count.bytes)
            add_secret(writer, settings)
            if artifacts:
                backend = open_artifacts(settings)
                for entry in list_artifacts(backend):
                    add_artifact(writer, backend, entry)
                    on_bytes(writer.count.bytes)
                    await asyncio.sleep(0)  # lets a Ctrl-C through
            return writer.finish(__version__, tables)


def add_secret(writer: Writer, settings: Settings) -> None:
    with suppress(FileNotFoundError):
        secret = (settings.data_dir / SECRET).read_bytes()
        writer.add(SECRET, [secret], len(secret))


def list_artifacts(backend: ArtifactBackend) -> Iterator[ArtifactEntry]:
    for folder in FOLDERS:
        for batch in backend.list(folder):
            yield from batch


def add_artifact(writer: Writer, backend: ArtifactBackend, entry: ArtifactEntry) -> None:
    """Skips an artifact that was swept meanwhile: no row in the dump refers to it either."""
    chunks = backend.read(entry.name)
    try:
        first = next(chunks, b"")
    except ArtifactMissing:
        return
    writer.add(ARTIFACTS + entry.name, chain([first], chunks), entry.size_bytes)


@contextmanager
def new_file(target: Path) -> Iterator[IO[bytes]]:
    """The private file gets its name when it is complete and on the disk."""
    if target.exists():
        raise Refused(f"{target} exists already: choose another name, or move it away.")
    try:
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as fault:
        raise Refused(
            f"Nothing can be written to {target.parent} ({fault.strerror}): choose another "
            "directory."
        ) from fault
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(target)
        sync_directory(target.parent)
    except OSError as fault:
        raise Refused(
            f"{target} can't be written ({fault.strerror}): free some space, or choose another "
            "directory."
        ) from fault
    finally:
        temporary.unlink(missing_ok=True)
