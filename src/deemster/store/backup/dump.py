"""Postgres's own programs for dumps, run on a URL whose password nobody else sees."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from tempfile import TemporaryFile
from typing import IO, Final
from urllib.parse import parse_qsl, unquote, urlencode

from deemster.domain.errors import Refused, Unavailable
from deemster.store.embedded import program
from deemster.store.embedded.database_user import SYSTEM_PATH

PIECE_BYTES: Final = 4 << 20
SAID_BYTES: Final = 2000
ADDRESS: Final = re.compile(
    r"(?P<scheme>postgres(?:ql)?://)"
    r"(?:(?P<user>[^:@/?]*)(?::(?P<password>[^@/?]*))?@)?"
    r"(?P<rest>.*)"
)
WITHOUT: Final = ("--no-owner", "--no-privileges")
QUEUES: Final = "queue_*"
"""A queue is a road: what waits there is in the tables too, and is sent again."""


async def dumped(url: str) -> AsyncIterator[bytes]:
    """The database, in pieces, as it was at one moment."""
    arguments = ("--format=custom", f"--exclude-schema={QUEUES}", *WITHOUT)
    async with running("pg_dump", url, *arguments, stdout=True) as (process, told):
        assert process.stdout is not None
        while piece := await read_full(process.stdout):
            yield piece
        await ended_well("pg_dump", process, told)


async def load(
    url: str, pieces: Iterator[bytes], first: str, is_whole: Callable[[], object]
) -> None:
    """All of it in one transaction, or nothing; `first` is done before, in the same one.

    `is_whole` is asked when all pieces were read, before anything is kept.
    """
    async with (
        running("pg_restore", None, "--file=-", *WITHOUT, stdin=True, stdout=True) as (
            turning,
            turning_told,
        ),
        running(
            "psql",
            url,
            *("--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--file=-"),
            stdin=True,
        ) as (writing, writing_told),
    ):
        assert writing.stdin is not None
        with suppress(BrokenPipeError, ConnectionResetError):
            await send(writing.stdin, f"BEGIN;\n{first}\n".encode())
            async with asyncio.TaskGroup() as group:
                group.create_task(feed(turning, pieces))
                group.create_task(pass_on(turning, writing))
            await ended_well("pg_restore", turning, turning_told)
            # Without this last word the connection ends, and with it the transaction.
            is_whole()
            await send(writing.stdin, b"\nCOMMIT;\n")
        writing.stdin.close()
        await ended_well("psql", writing, writing_told)


async def feed(turning: asyncio.subprocess.Process, pieces: Iterator[bytes]) -> None:
    assert turning.stdin is not None
    with suppress(BrokenPipeError, ConnectionResetError):
        for piece in pieces:
            await send(turning.stdin, piece)
    turning.stdin.close()


async def pass_on(
    turning: asyncio.subprocess.Process, writing: asyncio.subprocess.Process
) -> None:
    assert turning.stdout is not None
    assert writing.stdin is not None
    while piece := await turning.stdout.read(PIECE_BYTES):
        # When the writer has gone, the other still has to come to its end.
        with suppress(BrokenPipeError, ConnectionResetError):
            await send(writing.stdin, piece)


async def send(pipe: asyncio.StreamWriter, data: bytes) -> None:
    pipe.write(data)
    await pipe.drain()


async def read_full(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readexactly(PIECE_BYTES)
    except asyncio.IncompleteReadError as last:
        return last.partial


@asynccontextmanager
async def running(
    name: str, url: str | None, *arguments: str, stdin: bool = False, stdout: bool = False
) -> AsyncIterator[tuple[asyncio.subprocess.Process, IO[bytes]]]:
    """The process, gone at the end, and the file with what it said."""
    environment = {"PATH": SYSTEM_PATH, "LC_ALL": "C"}
    where: tuple[str, ...] = ()
    if url is not None:
        plain, password = without_password(url)
        where = (f"--dbname={plain}",)
        environment |= {"PGPASSWORD": password} if password else {}
    with TemporaryFile() as told:
        process = await asyncio.create_subprocess_exec(
            *(str(program(name)), *where, *arguments),
            stdin=asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE if stdout else asyncio.subprocess.DEVNULL,
            stderr=told,
            env=environment,
            limit=2 * PIECE_BYTES,
        )
        try:
            yield process, told
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()


async def ended_well(name: str, process: asyncio.subprocess.Process, told: IO[bytes]) -> None:
    code = await process.wait()
    if code != 0:
        told.seek(0)
        said = told.read(SAID_BYTES).decode(errors="replace").strip()
        raise Unavailable(f"{name} failed (exit code {code}): {said or 'it does not say why'}")


def without_password(url: str) -> tuple[str, str | None]:
    """Command lines are seen by everybody on the machine."""
    found = ADDRESS.fullmatch(url)
    if found is None:
        raise Refused(f"A database's URL begins with postgresql://, not {url[:12]!r}.")
    address, question, query = found["rest"].partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    password = options.pop("password", None) or unquote(found["password"] or "")
    user = f"{found['user']}@" if found["user"] is not None else ""
    kept = urlencode(options, safe="/")
    return f"{found['scheme']}{user}{address}{question if kept else ''}{kept}", password or None
