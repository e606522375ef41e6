"""Runs pg_dump, pg_restore and psql without showing the database's password."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Container, Iterator
from contextlib import asynccontextmanager, suppress
from tempfile import TemporaryFile
from typing import IO, Final
from urllib.parse import parse_qsl, unquote, urlencode

from deemster.domain.errors import Refused, Unavailable
from deemster.privileges.service_user import SYSTEM_PATH
from deemster.store.embedded import program

CHUNK_BYTES: Final = 4 << 20
STDERR_BYTES: Final = 2000
ADDRESS: Final = re.compile(
    r"(?P<scheme>postgres(?:ql)?://)"
    r"(?:(?P<user>[^:@/?]*)(?::(?P<password>[^@/?]*))?@)?"
    r"(?P<rest>.*)"
)
SETTING: Final = re.compile(rb"SET (\w+) = ")
"""A line in the first part of a dump."""
BODY: Final = (b"CREATE ", b"COPY ", b"ALTER ", b"DROP ")
"""How the first line after that part begins."""
NO_OWNERS: Final = ("--no-owner", "--no-privileges")
QUEUES: Final = "queue_*"
"""Queues are left out: their jobs are in the outbox too, and are sent again."""


async def dump(url: str) -> AsyncIterator[bytes]:
    """Yields a consistent dump of the database in chunks."""
    arguments = ("--format=custom", f"--exclude-schema={QUEUES}", *NO_OWNERS)
    async with running("pg_dump", url, *arguments, stdout=True) as (process, stderr):
        assert process.stdout is not None
        while chunk := await read_full(process.stdout):
            yield chunk
        await check_exit("pg_dump", process, stderr)


async def load(
    url: str,
    chunks: Iterator[bytes],
    first: str,
    check: Callable[[], object],
    known_settings: Container[str],
) -> None:
    """Loads a dump in one transaction, which starts with the SQL in `first`.

    pg_restore is of the newest Postgres, and sets what only that one has: `known_settings` are
    those of the server.
    `check` runs after all chunks were read; if it raises, the transaction is rolled back.
    """
    async with (
        running("pg_restore", None, "--file=-", *NO_OWNERS, stdin=True, stdout=True) as (
            converter,
            converter_stderr,
        ),
        running(
            "psql",
            url,
            *("--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--file=-"),
            stdin=True,
        ) as (writer, writer_stderr),
    ):
        assert writer.stdin is not None
        with suppress(BrokenPipeError, ConnectionResetError):
            await send(writer.stdin, f"BEGIN;\n{first}\n".encode())
            async with asyncio.TaskGroup() as group:
                group.create_task(feed(converter, chunks))
                group.create_task(copy_output(converter, writer, known_settings))
            await check_exit("pg_restore", converter, converter_stderr)
            # If this raises, psql gets no COMMIT, and the transaction ends with the connection.
            check()
            await send(writer.stdin, b"\nCOMMIT;\n")
        writer.stdin.close()
        await check_exit("psql", writer, writer_stderr)


async def feed(process: asyncio.subprocess.Process, chunks: Iterator[bytes]) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError, ConnectionResetError):
        for chunk in chunks:
            await send(process.stdin, chunk)
    process.stdin.close()


async def copy_output(
    source: asyncio.subprocess.Process,
    target: asyncio.subprocess.Process,
    known_settings: Container[str],
) -> None:
    assert source.stdout is not None
    assert target.stdin is not None
    while line := await source.stdout.readline():
        setting = SETTING.match(line)
        if setting is None or setting[1].decode() in known_settings:
            with suppress(BrokenPipeError, ConnectionResetError):
                await send(target.stdin, line)
        if line.startswith(BODY):
            break
    while chunk := await source.stdout.read(CHUNK_BYTES):
        # If the target has ended, the source must still be able to end.
        with suppress(BrokenPipeError, ConnectionResetError):
            await send(target.stdin, chunk)


async def send(pipe: asyncio.StreamWriter, data: bytes) -> None:
    pipe.write(data)
    await pipe.drain()


async def read_full(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readexactly(CHUNK_BYTES)
    except asyncio.IncompleteReadError as last:
        return last.partial


@asynccontextmanager
async def running(
    name: str, url: str | None, *arguments: str, stdin: bool = False, stdout: bool = False
) -> AsyncIterator[tuple[asyncio.subprocess.Process, IO[bytes]]]:
    """Yields the process and the file of its standard error; kills it at the end."""
    # Otherwise long notices would hide an error.
    quiet = "-c client_min_messages=warning"
    environment = {"PATH": SYSTEM_PATH, "LC_ALL": "C", "PGOPTIONS": quiet}
    where: tuple[str, ...] = ()
    if url is not None:
        plain, password = without_password(url)
        where = (f"--dbname={plain}",)
        environment |= {"PGPASSWORD": password} if password else {}
    with TemporaryFile() as stderr:
        process = await asyncio.create_subprocess_exec(
            *(str(program(name)), *where, *arguments),
            stdin=asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE if stdout else asyncio.subprocess.DEVNULL,
            stderr=stderr,
            env=environment,
            limit=2 * CHUNK_BYTES,
        )
        try:
            yield process, stderr
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()


async def check_exit(name: str, process: asyncio.subprocess.Process, stderr: IO[bytes]) -> None:
    code = await process.wait()
    if code != 0:
        stderr.seek(0)
        text = stderr.read(STDERR_BYTES).decode(errors="replace").strip()
        raise Unavailable(f"{name} failed (exit code {code}): {text or 'no message'}")


def without_password(url: str) -> tuple[str, str | None]:
    """Splits off the password: every user of the machine can read command lines."""
    found = ADDRESS.fullmatch(url)
    if found is None:
        raise Refused(f"A database's URL starts with postgresql://, not {url[:12]!r}.")
    address, question, query = found["rest"].partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    password = options.pop("password", None) or unquote(found["password"] or "")
    user = f"{found['user']}@" if found["user"] is not None else ""
    kept = urlencode(options, safe="/")
    return f"{found['scheme']}{user}{address}{question if kept else ''}{kept}", password or None
