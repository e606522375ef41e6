"""Waits for what other processes bring about: a condition and a deadline, never a guess."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, overload

import httpx

T = TypeVar("T")

PATIENCE_S = 150.0
"""For what takes seconds on an idle machine."""
PACE_S = 0.02


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
    """What `look` gives, once that is true; `why` is asked when that takes too long."""
    try:
        async with asyncio.timeout(patience_s):
            while True:
                seen = look()
                found = await seen if inspect.isawaitable(seen) else seen
                if found:
                    return found
                await asyncio.sleep(PACE_S)
    except TimeoutError:
        reason = f" {why()}" if why is not None else ""
        raise AssertionError(f"It did not come to be in {patience_s} s.{reason}") from None


async def until_ready(url: str) -> None:
    async with httpx.AsyncClient(base_url=url) as client:

        async def is_ready() -> bool:
            try:
                return (await client.get("/readyz")).status_code == 200
            except httpx.TransportError:
                return False

        await until(is_ready)
