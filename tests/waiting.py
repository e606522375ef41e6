"""Waits for what other processes and tasks bring about: a condition and a deadline."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, overload

import httpx

T = TypeVar("T")

PATIENCE_S = 300
"""For what takes seconds on an idle machine: others may use this one too."""
FIRST_PAUSE_S = 0.01
LONGEST_PAUSE_S = 0.05
"""To look a hundred times a second at a database or at /proc takes a part of a core."""
PAUSE_SHARE = 0.05
"""Of the time that has passed: a long wait ends by so much later."""


@overload
async def until(
    look: Callable[[], Awaitable[T]],
    patience_s: float = ...,
    *,
    why: Callable[[], object] | None = ...,
) -> T: ...
@overload
async def until(
    look: Callable[[], T],
    patience_s: float = ...,
    *,
    why: Callable[[], object] | None = ...,
) -> T: ...
async def until(
    look: Callable[[], Any],
    patience_s: float = PATIENCE_S,
    *,
    why: Callable[[], object] | None = None,
) -> Any:
    """The first true answer of `look`; a failure quotes the answer of `why`."""
    try:
        async with asyncio.timeout(patience_s):
            began = time.monotonic()
            while True:
                seen = look()
                found = await seen if inspect.isawaitable(seen) else seen
                if found:
                    return found
                await asyncio.sleep(pause_s(began))
    except TimeoutError:
        raise AssertionError(late(patience_s, why)) from None


def wait_until(
    look: Callable[[], T],
    patience_s: float = PATIENCE_S,
    *,
    why: Callable[[], object] | None = None,
) -> T:
    """The same in a thread, or where there is no loop."""
    began = time.monotonic()
    while not (found := look()):
        if time.monotonic() > began + patience_s:
            raise AssertionError(late(patience_s, why))
        time.sleep(pause_s(began))
    return found


def pause_s(began: float) -> float:
    """Until the next look of a wait that began then."""
    share = PAUSE_SHARE * (time.monotonic() - began)
    return min(max(FIRST_PAUSE_S, share), LONGEST_PAUSE_S)


def late(patience_s: float, why: Callable[[], object] | None) -> str:
    reason = f" {why()}" if why is not None else ""
    return f"The condition did not come to hold in {patience_s} s.{reason}"


async def until_ready(url: str) -> None:
    async with httpx.AsyncClient(base_url=url, verify=False) as client:

        async def is_ready() -> bool:
            try:
                return bool((await client.get("/readyz")).json()["workers"]["ok"])
            except httpx.TransportError:
                return False

        await until(is_ready)
