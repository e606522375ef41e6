"""Watches a running service: until it is ready, and from then on how it does."""

import asyncio
from collections import deque
from typing import Any, Final

from deemster.cli.up.display import Display
from deemster.domain.errors import Unavailable
from deemster.store import stats
from deemster.store.pool import Pool, connection
from deemster.store.stats import LiveStats
from deemster.wiring.address import Address, ask

PACE_S: Final = 0.05
SLOW_TURNS: Final = 200
"""After so many looks it is told what is waited for."""
LOOK_S: Final = 1.0
WINDOW: Final = 10
READY_TURNS: Final = 5


async def until_ready(address: Address, board: Display) -> None:
    turn = 0
    while (lacking := await find_lacking(address)) is not None:
        turn += 1
        if turn % SLOW_TURNS == 0:
            board.warn(f"Not ready yet: {lacking}")
        await asyncio.sleep(PACE_S)


async def find_lacking(address: Address) -> str | None:
    """What keeps it from being ready, in words."""
    try:
        status, parts = await ask(address, "/readyz")
    except OSError:
        return "the API does not answer"
    return None if status == 200 else in_words(parts)


def in_words(answer: Any) -> str:
    parts = answer.get("parts", answer) if isinstance(answer, dict) else {}
    bad = [
        f"{name}: {part.get('detail') or 'not ok'}"
        for name, part in parts.items()
        if isinstance(part, dict) and not part.get("ok")
    ]
    return "; ".join(bad) or "the API says so"


async def show_state(pool: Pool, address: Address, board: Display) -> None:
    """For ever: depth, rate and workers, and a word when it stops being ready."""
    seen: deque[tuple[float, int]] = deque(maxlen=WINDOW)
    now = asyncio.get_running_loop().time
    after: int | None = None
    lacked: str | None = None
    turn = 0
    while True:
        try:
            async with connection(pool) as acquired:
                if after is None:
                    after = await stats.newest_event(acquired)
                found = await stats.read_live_stats(acquired, after=after)
            after = found.newest
            seen.append((now(), found.judged))
            board.state(as_line(found, rate(seen)))
        except Unavailable:
            board.state("the database does not answer")
        turn += 1
        if turn % READY_TURNS == 0:
            lacking = await find_lacking(address)
            if (lacking is None) != (lacked is None):
                board.warn(f"Not ready: {lacking}" if lacking else "Ready again.")
            lacked = lacking
        await asyncio.sleep(LOOK_S)


def rate(seen: deque[tuple[float, int]]) -> float:
    """Judged a second, between the first look and the last."""
    if len(seen) < 2:
        return 0.0
    judged = sum(count for _, count in list(seen)[1:])
    return judged / (seen[-1][0] - seen[0][0])


def as_line(found: LiveStats, per_s: float) -> str:
    workers = "1 worker" if found.workers == 1 else f"{found.workers} workers"
    return (
        f"{found.waiting:,} waiting · {found.running} running · {per_s:.1f} judged/s · "
        f"{workers}, {found.slots} at once"
    )
