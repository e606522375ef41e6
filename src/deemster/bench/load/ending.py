"""Runs a benchmark so that a signal ends it cleanly: its servers and its directory go too."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import uvloop

from deemster.domain.errors import Unavailable
from deemster.wiring.process import signals_handled

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    return uvloop.run(heeding(work))


async def heeding(work: Coroutine[Any, Any, T]) -> T:
    task = asyncio.current_task()
    assert task is not None
    told = False

    def end(_: int) -> None:
        nonlocal told
        told = True
        task.cancel()

    try:
        with signals_handled(end):
            return await work
    except asyncio.CancelledError:
        if not told:
            raise
        raise Unavailable("The benchmark was ended before it was done.") from None
