"""Runs a role until SIGTERM or SIGINT asks it to end."""

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

T = TypeVar("T")


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


async def until_told(work: Coroutine[Any, Any, T]) -> T | None:
    """The result of the work, or None when a signal has cancelled it."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(work)

        def end(_: int) -> None:
            task.cancel()

        with signals_heard(end), suppress(asyncio.CancelledError):
            return await asyncio.shield(task)
    return None
