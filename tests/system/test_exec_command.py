"""`deemster exec` against a running service: live output, exit codes, and a terminal."""

import asyncio
import os
import pty
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from deemster.bench.load.processes import free_address
from deemster.domain.account import Role
from deemster.store import accounts
from deemster.store.pool import connection
from tests.system.conftest import OpenService
from tests.waiting import PATIENCE_S, until_ready

PROGRAMS = {
    "good.py": (
        "import sys\nprint(input(), sys.argv[1:])\nprint('no', file=sys.stderr)",
        0,
        b"21 ['a b']\n",
        b"no\n",
    ),
    "bad.py": ("raise SystemExit(3)", 1, b"", b"The program ended with exit code 3.\n"),
}


@asynccontextmanager
async def served(open_service: OpenService) -> AsyncIterator[dict[str, str]]:
    """The environment of a client."""
    address = free_address()
    async with open_service(host=address.host, port=address.port) as service:
        service.start("api", "relay", "worker")
        async with connection(service.pool) as acquired:
            account = await accounts.add(acquired, "ada", Role.USER)
            token = await accounts.add_token(acquired, account.id, "for tests")
        await until_ready(address.url)
        yield {**os.environ, "DEEMSTER_URL": address.url, "DEEMSTER_TOKEN": token}


async def test_exec_shows_output_and_runs_a_terminal(
    open_service: OpenService, tmp_path: Path
) -> None:
    async with served(open_service) as environment:
        (tmp_path / "in").write_text("21\n")
        for name, (source, code, stdout, stderr) in PROGRAMS.items():
            (tmp_path / name).write_text(source)
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "deemster", "exec", tmp_path / name, "a b"),
                *("--stdin", tmp_path / "in"),
                env=environment,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            seen = await process.communicate()
            assert (process.returncode, *seen) == (code, stdout, stderr)
        await check_terminal(environment, tmp_path)


async def check_terminal(environment: dict[str, str], directory: Path) -> None:
    (directory / "talk.py").write_text("print('hi', input('name? '))\n")
    master, slave = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "deemster", "exec", "-i", directory / "talk.py"),
        env=environment,
        stdin=slave,
        stdout=slave,
        stderr=slave,
    )
    os.close(slave)
    try:
        async with asyncio.timeout(PATIENCE_S):
            seen = await read_until(master, b"name? ")
            os.write(master, b"ada\r")
            seen += await read_until(master, b"hi ada")
            assert await process.wait() == 0, seen
        assert b"Traceback" not in seen
    finally:
        os.close(master)


async def read_until(master: int, text: bytes) -> bytes:
    seen = b""
    while text not in seen:
        seen += await asyncio.to_thread(os.read, master, 4096)
    return seen
