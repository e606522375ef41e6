"""Server processes of a benchmark: started, awaited, ended, whatever happens to us."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from deemster.domain.errors import Unavailable
from deemster.wiring.address import Address, ask, find_free

START_S: Final = 60.0
END_S: Final = 30.0
PACE_S: Final = 0.05
LOG_END: Final = 2000


def free_address() -> Address:
    return find_free("127.0.0.1", 0)


def role(name: str) -> list[str]:
    """The command of a role that ends with this process."""
    return [sys.executable, "-P", "-m", "deemster", "--parent", str(os.getpid()), name]


def module(name: str) -> list[str]:
    """The command of a server of this package that ends with this process."""
    return [sys.executable, "-P", "-m", name, str(os.getpid())]


@asynccontextmanager
async def running(
    argv: Sequence[str], environment: Mapping[str, str], log: Path
) -> AsyncIterator[asyncio.subprocess.Process]:
    with log.open("ab") as output:
        # No thread may do this: the kernel counts the end of the thread as that of the parent.
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


async def end(process: asyncio.subprocess.Process) -> None:
    """A first SIGTERM drains a worker, a second one ends it at once."""
    for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            process.send_signal(number)
        with suppress(TimeoutError):
            async with asyncio.timeout(END_S):
                await process.wait()
                return


async def until_answered(
    address: Address, path: str, process: asyncio.subprocess.Process, log: Path
) -> None:
    """Until that path is there and good."""
    with suppress(TimeoutError):
        async with asyncio.timeout(START_S):
            while process.returncode is None:
                with suppress(OSError):
                    status, _ = await ask(address, path)
                    if status < 300:
                        return
                await asyncio.sleep(PACE_S)
    raise Unavailable(
        f"A server of the benchmark did not begin; its log ends with:\n{log_end(log)}"
    )


def log_end(log: Path) -> str:
    return log.read_text(errors="replace")[-LOG_END:].strip()
