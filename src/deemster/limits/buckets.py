"""Token buckets: how much of something may come at once, and how fast it may come again (D2).

Each is kept as one number, the time at which it will be full again (the generic cell rate
algorithm), so that taking is one comparison and nothing has to be refilled.
"""

import functools
import ipaddress
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

MOST_KNOWN: Final = 200_000
"""Buckets that are not full; beyond that the ones that will be full soonest are forgotten."""


class Limit(NamedTuple):
    """A tuple, as it is made anew for every request."""

    name: str
    """What is limited: `submit.user`."""
    key: str
    """Whom it is for."""
    per_s: float
    burst: int

    @property
    def id(self) -> str:
        return f"{self.name}:{self.key}"

    @property
    def step_s(self) -> float:
        """How long one token takes to come."""
        return 1 / self.per_s

    @property
    def most_s(self) -> float:
        """How long an empty bucket takes to be full."""
        return self.burst / self.per_s


class Taken(NamedTuple):
    ok: bool
    limit: Limit
    """The one that refused; else the one with the least left."""
    left: int
    full_in_s: float
    retry_after_s: float = 0.0


class Buckets(Protocol):
    async def take(self, limits: Sequence[Limit]) -> Taken:
        """One token of each, or none of any."""

    async def look(self, limits: Sequence[Limit]) -> Taken:
        """What taking would say, without taking."""


class MemoryBuckets:
    """In the memory of this process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._full_at: dict[tuple[str, str], float] = {}

    async def take(self, limits: Sequence[Limit]) -> Taken:
        return self.take_now(limits)

    async def look(self, limits: Sequence[Limit]) -> Taken:
        return self.look_now(limits)

    def take_now(self, limits: Sequence[Limit]) -> Taken:
        now = self._clock()
        waits = self._waits(limits, now)
        taken = decide(limits, waits)
        if taken.ok:
            known = self._full_at
            for (name, key, per_s, _), wait_s in zip(limits, waits, strict=True):
                known[name, key] = now + wait_s + 1 / per_s
            if len(known) > MOST_KNOWN:
                self._forget(now)
        return taken

    def look_now(self, limits: Sequence[Limit]) -> Taken:
        return decide(limits, self._waits(limits, self._clock()))

    def _waits(self, limits: Sequence[Limit], now: float) -> list[float]:
        known = self._full_at
        return [max(0.0, known.get((name, key), now) - now) for name, key, _, _ in limits]

    def _forget(self, now: float) -> None:
        """Those that are full again; if they are too few, also those that soon will be."""
        kept = sorted(
            ((at, name) for name, at in self._full_at.items() if at > now), reverse=True
        )
        self._full_at = {name: at for at, name in kept[: MOST_KNOWN // 2]}


def decide(limits: Sequence[Limit], full_in_s: Sequence[float]) -> Taken:
    """From how long each bucket takes to be full as it is now."""
    nearest: Taken | None = None
    for limit, wait_s in zip(limits, full_in_s, strict=True):
        step_s = 1 / limit.per_s
        after_s = wait_s + step_s
        most_s = limit.burst * step_s
        # Sums of many small times are a little off; a token is not lost for that.
        if after_s - most_s > step_s * 1e-6:
            over_s = after_s - most_s
            if nearest is None or nearest.ok or over_s > nearest.retry_after_s:
                nearest = Taken(False, limit, 0, wait_s, over_s)
        else:
            left = int((most_s - after_s) / step_s + 1e-6)
            if nearest is None or (nearest.ok and left < nearest.left):
                nearest = Taken(True, limit, left, after_s)
    assert nearest is not None, "something is limited"
    return nearest


@functools.lru_cache(10_000)
def network_of(address: str | None) -> str:
    """Whom an address stands for: of IPv6 a household has 2⁶⁴."""
    if not address:
        return "?"
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:64]
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)
