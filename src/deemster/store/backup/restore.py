"""Restores a backup: looked at as a whole first, then artifacts, then the database at once."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.private_file import write_private
from deemster.settings import Settings
from deemster.store.artifacts.backend import ArtifactBackend
from deemster.store.backup.archive import ARTIFACTS, DATABASE, SECRET, Manifest, Member, Reader
from deemster.store.backup.dump import load
from deemster.store.backup.sources import open_depot, writing
from deemster.store.migrations import shipped
from deemster.store.pool import connect
from deemster.store.preflight import MAKE_ROOM, is_empty, users

OnBytes = Callable[[int], None]


async def restore_backup(
    settings: Settings, source: Path, on_bytes: OnBytes, *, force: bool
) -> Manifest:
    manifest = await look_through(source, on_bytes)
    if manifest.tables > shipped()[-1].version:
        raise Refused(
            f"{source} was made by a newer Deemster ({manifest.deemster}): restore it with "
            "that one."
        )
    async with writing(settings) as url:
        empty = await check_premises(url, force=force)
        depot = open_depot(settings)
        await restore_files(settings, depot, source, on_bytes)
        await restore_database(url, source, make_room=not empty)
    return manifest


async def look_through(source: Path, on_bytes: OnBytes) -> Manifest:
    """Nothing is touched before it is clear that the backup is whole."""
    reader = Reader(source)
    for member in reader.members():
        for _ in member.chunks:
            on_bytes(reader.count.bytes)
            await asyncio.sleep(0)
    return reader.check()


async def check_premises(url: str, *, force: bool) -> bool:
    """Whether there is nothing to lose."""
    connection = await connect(url)
    try:
        empty = await is_empty(connection)
        if not empty and not force:
            raise Refused(
                "The database is not empty: with --force all that is in it is lost. Or name "
                "another data directory with DEEMSTER_DATA_DIR."
            )
        if others := await users(connection):
            raise Refused(
                f"The database is in use by {', '.join(others)}: stop these processes first."
            )
    finally:
        await connection.close()
    return empty


async def restore_files(
    settings: Settings, depot: ArtifactBackend, source: Path, on_bytes: OnBytes
) -> None:
    """Before the rows that refer to them."""
    reader = Reader(source)
    for member in reader.members():
        if member.name == SECRET:
            restore_secret(settings, member)
        elif member.name.startswith(ARTIFACTS):
            name = member.name.removeprefix(ARTIFACTS)
            depot.write(name, member.chunks, member.size_bytes)
        on_bytes(reader.count.bytes)
        await asyncio.sleep(0)
    reader.check()


def restore_secret(settings: Settings, member: Member) -> None:
    text = b"".join(member.chunks).decode()
    write_private(settings.data_dir / SECRET, text.rstrip("\n"))


async def restore_database(url: str, source: Path, *, make_room: bool) -> None:
    reader = Reader(source)

    def pieces() -> Iterator[bytes]:
        for member in reader.members():
            if member.name.startswith(DATABASE):
                yield from member.chunks

    await load(url, pieces(), MAKE_ROOM if make_room else "", reader.check)
