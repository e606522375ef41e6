"""`deemster exec` against a running service: live output, exit codes, and a terminal."""

import asyncio
import os
import pty
import secrets
import sys
from pathlib import Path

from tests.system.conftest import RunningService
from tests.system.terminal_client import make_token
from tests.waiting import PATIENCE_S

PROGRAMS = {
    "good.py": (
        "import sys\nprint(input(), sys.argv[1:])\nprint('no', file=sys.stderr)",
        0,
        b"21 ['a b']\n",
        b"no\n",
    ),
    "bad.py": ("raise SystemExit(3)", 1, b"", b"The program ended with exit code 3.\n"),
}


async def test_exec_shows_output_and_runs_a_terminal(
    shared_service: RunningService, tmp_path: Path
) -> None:
    token = await make_token(shared_service.service, f"user-{secrets.token_hex(4)}")
    url = shared_service.address.url
    environment = {**os.environ, "DEEMSTER_URL": url, "DEEMSTER_TOKEN": token}
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
