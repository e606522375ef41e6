"""Waits until the service is ready, and then shows its status."""

import asyncio
from collections import deque
from typing import Any, Final

from deemster.cli.up.display import Display
from deemster.domain.errors import Unavailable
from deemster.store import stats
from deemster.store.pool import Pool, connection
from deemster.store.stats import LiveStats
from deemster.wiring.address import Address, ask

READY_POLL_S: Final = 0.05
SLOW_POLLS: Final = 200
"""After this many polls a message says what is missing."""
STATUS_POLL_S: Final = 1.0
WINDOW: Final = 10
READY_EVERY: Final = 5


async def until_ready(address: Address, display: Display) -> None:
    polls = 0
    while (missing := await find_missing(address)) is not None:
        polls += 1
        if polls % SLOW_POLLS == 0:
            display.warn(f"Not ready yet: {missing}.")
        await asyncio.sleep(READY_POLL_S)


async def find_missing(address: Address) -> str | None:
    """The reason why the service is not ready; None if it is."""
    try:
        status, parts = await ask(address, "/readyz")
    except OSError:
        return "the API does not answer"
    return None if status == 200 and parts["workers"]["ok"] else reason_of(parts)


def reason_of(answer: Any) -> str:
    parts = answer.get("parts", answer) if isinstance(answer, dict) else {}
    bad = [
        f"{name}: {part.get('detail') or 'not ok'}"
        for name, part in parts.items()
        if isinstance(part, dict) and not part.get("ok")
    ]
    return "; ".join(bad) or "the API gives no reason"


async def show_status(pool: Pool, address: Address, display: Display) -> None:
    """Runs for ever: shows queue depth, rate and workers, and says when readiness changes."""
    seen: deque[tuple[float, int]] = deque(maxlen=WINDOW)
    now = asyncio.get_running_loop().time
    after: int | None = None
    missed: str | None = None
    polls = 0
    while True:
        try:
            async with connection(pool) as acquired:
                if after is None:
                    after = await stats.newest_event(acquired)
                found = await stats.read_live_stats(acquired, after=after)
            after = found.newest
            seen.append((now(), found.judged))
            display.status(as_line(found, rate(seen)))
        except Unavailable:
            display.status("the database does not answer")
        polls += 1
        if polls % READY_EVERY == 0:
            missing = await find_missing(address)
            if (missing is None) != (missed is None):
                display.warn(f"Not ready: {missing}." if missing else "Ready again.")
            missed = missing
        await asyncio.sleep(STATUS_POLL_S)


def rate(seen: deque[tuple[float, int]]) -> float:
    """Submissions judged per second in the window."""
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
