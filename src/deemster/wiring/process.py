"""Ends a role on a signal or when its parent ends, and tunes its garbage collection."""

import asyncio
import ctypes
import gc
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from deemster.domain.errors import Unavailable
from deemster.sandbox.launched_runner import launcher_in_use

T = TypeVar("T")

PR_SET_PDEATHSIG: Final = 1
ARGUMENTS_START, ARGUMENTS_END = 45, 46
"""Indices among the fields of /proc/PID/stat that follow the name of the command."""


@contextmanager
def signals_handled(on_signal: Callable[[int], None]) -> Iterator[None]:
    """Calls back at each SIGTERM or SIGINT, with the number received so far."""
    loop = asyncio.get_running_loop()
    received = 0

    def receive() -> None:
        nonlocal received
        received += 1
        on_signal(received)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, receive)
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


async def run_until_signal(work: Coroutine[Any, Any, T]) -> T | None:
    """Returns the result of the work, or None when a signal has cancelled it."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(work)

        def end(_: int) -> None:
            task.cancel()

        with signals_handled(end), suppress(asyncio.CancelledError):
            return await asyncio.shield(task)
    return None


async def end_with_launcher(work: Coroutine[Any, Any, T]) -> T:
    """If the launcher and its parent were killed, the work ends as after SIGTERM, and fails.

    Nothing that this process can do starts another launcher: only root can.
    """
    launcher = launcher_in_use()
    if launcher is None:
        return await work
    loop = asyncio.get_running_loop()
    is_gone = False

    def end() -> None:
        nonlocal is_gone
        is_gone = True
        loop.remove_reader(launcher.descriptor)
        signal.raise_signal(signal.SIGTERM)

    # Answers come by other sockets: this one becomes readable only when it is closed.
    loop.add_reader(launcher.descriptor, end)
    try:
        result = await work
    finally:
        loop.remove_reader(launcher.descriptor)
    if is_gone:
        raise Unavailable(
            "The process that starts the sandbox's runners was killed, and no program can run "
            "without it: start this command again. All submissions are kept."
        )
    return result


def die_with_parent(parent: int) -> None:
    """Makes the kernel kill this process when its parent ends, however it ends."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:
        sys.exit("The parent ended before this process began.")


def show_arguments(arguments: Sequence[str]) -> None:
    """Replaces the command line that `ps` shows; what is longer than the old one is cut off."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(fields[ARGUMENTS_START]), int(fields[ARGUMENTS_END])
    # The last byte stays zero, by which the kernel knows where the arguments end.
    shown = os.fsencode("\0".join(arguments))[: end - start - 1]
    ctypes.memmove(start, shown.ljust(end - start, b"\0"), end - start)


def reduce_garbage_collection() -> None:
    """Exempts all objects made so far from garbage collection, which took a tenth of a
    request's time and a twentieth of a case's.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000, 20, 20)
