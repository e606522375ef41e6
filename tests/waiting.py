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
PACE_S = 0.01


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
            while True:
                seen = look()
                found = await seen if inspect.isawaitable(seen) else seen
                if found:
                    return found
                await asyncio.sleep(PACE_S)
    except TimeoutError:
        raise AssertionError(late(patience_s, why)) from None


def wait_until(
    look: Callable[[], T],
    patience_s: float = PATIENCE_S,
    *,
    why: Callable[[], object] | None = None,
) -> T:
    """The same in a thread, or where there is no loop."""
    end = time.monotonic() + patience_s
    while not (found := look()):
        if time.monotonic() > end:
            raise AssertionError(late(patience_s, why))
        time.sleep(PACE_S)
    return found


def late(patience_s: float, why: Callable[[], object] | None) -> str:
    reason = f" {why()}" if why is not None else ""
    return f"The condition did not come to hold in {patience_s} s.{reason}"


async def until_ready(url: str) -> None:
    async with httpx.AsyncClient(base_url=url) as client:

        async def is_ready() -> bool:
            try:
                return bool((await client.get("/readyz")).json()["workers"]["ok"])
            except httpx.TransportError:
                return False

        await until(is_ready)
