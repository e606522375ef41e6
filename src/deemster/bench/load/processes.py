"""Starts the server processes of a benchmark, waits for them, and ends them."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

from deemster.domain.errors import Unavailable
from deemster.wiring.address import Address, ask, find_free
from deemster.wiring.forked_process import ForkedProcess, ForkServerClient

START_TIMEOUT_S: Final = 60.0
END_TIMEOUT_S: Final = 30.0
POLL_S: Final = 0.05
LOG_TAIL_CHARS: Final = 2000


def free_address() -> Address:
    return find_free("127.0.0.1", 0)


def role(name: str) -> list[str]:
    """The command line of a role that dies with this process."""
    return [sys.executable, "-P", "-m", "deemster", "--parent", str(os.getpid()), name]


def module(name: str) -> list[str]:
    """The command line of a server of this package that dies with this process."""
    return [sys.executable, "-P", "-m", name, str(os.getpid())]


@asynccontextmanager
async def running(
    argv: Sequence[str], environment: Mapping[str, str], log: Path
) -> AsyncIterator[Process]:
    with log.open("ab") as output:
        # Never from a thread: for PR_SET_PDEATHSIG the thread is the parent.
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        await end(process)


@asynccontextmanager
async def forked(
    server: ForkServerClient, name: str, environment: Mapping[str, str], log: Path
) -> AsyncIterator[ForkedProcess]:
    """Runs a role that the fork server has imported."""
    with log.open("ab") as output:
        process = server.start([name], environment, output.fileno())
    await process.begun.wait()
    process.check_begun()
    try:
        yield process
    finally:
        await end(process)


async def end(process: Process | ForkedProcess) -> None:
    """The first SIGTERM drains a worker, the second one ends it at once."""
    for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            process.send_signal(number)
        with suppress(TimeoutError):
            async with asyncio.timeout(END_TIMEOUT_S):
                await process.wait()
                return


async def until_answered(
    address: Address, path: str, process: Process | ForkedProcess, log: Path
) -> None:
    """Waits until the path answers with a 2xx status."""
    with suppress(TimeoutError):
        async with asyncio.timeout(START_TIMEOUT_S):
            while process.returncode is None:
                with suppress(OSError):
                    status, answer = await ask(address, path)
                    # Without workers the API is ready, but a benchmark is not.
                    if status < 300 and has_workers(answer):
                        return
                await asyncio.sleep(POLL_S)
    raise Unavailable(
        f"A server of the benchmark did not start; its log ends with:\n{log_tail(log)}"
    )


def has_workers(answer: Any) -> bool:
    """True for other answers than that of /readyz."""
    parts = answer if isinstance(answer, dict) else {}
    return bool(parts.get("workers", {"ok": True})["ok"])


def log_tail(log: Path) -> str:
    return log.read_text(errors="replace")[-LOG_TAIL_CHARS:].strip()
