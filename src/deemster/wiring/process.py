"""Which process this is, and when it was asked to end."""

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def host_name() -> str:
    """Containers of one machine may share its name, and number their processes apart."""
    pid_namespace = Path("/proc/self/ns/pid").stat().st_ino
    return f"{socket.gethostname()}/{pid_namespace}"


def process_name(pid: int | None = None) -> str | None:
    """A process as no other is called, ever; None: there is none of that number."""
    pid = pid or os.getpid()
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        boot = BOOT_ID.read_text().strip()
    except OSError:
        return None
    state, started = fields[0], fields[19]
    return None if state in "ZX" else f"{boot}:{pid}:{started}"


def is_alive(name: str) -> bool:
    """Of a process of this host, by its name."""
    number = name.split(":")[1]
    return process_name(int(number)) == name


@contextmanager
def signals_heard(on_signal: Callable[[int], None]) -> Iterator[None]:
    """Told how often SIGTERM or SIGINT came."""
    loop = asyncio.get_running_loop()
    heard = 0

    def hear() -> None:
        nonlocal heard
        heard += 1
        on_signal(heard)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, hear)
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


async def until_told(work: Coroutine[Any, Any, None]) -> None:
    """Cancels the work at the first signal: each of its steps may be the last."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(work)

        def end(_: int) -> None:
            task.cancel()

        with signals_heard(end), suppress(asyncio.CancelledError):
            await asyncio.shield(task)
