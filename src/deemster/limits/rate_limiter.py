"""Rate limits by token buckets: a burst at once, then as fast as tokens come back (D2).

A bucket is stored as one number, the time at which it will be full again (the generic cell rate
algorithm), so taking a token is one comparison and no bucket has to be refilled.
"""

import functools
import ipaddress
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

MAX_BUCKETS: Final = 200_000
"""Buckets that are not full; beyond that those that will be full soonest are dropped."""


class Limit(NamedTuple):
    """A tuple, because every request makes new ones."""

    name: str
    """What is limited: `submit.user`."""
    key: str
    """For whom: an account, an address or a problem."""
    per_s: float
    burst: int

    @property
    def id(self) -> str:
        return f"{self.name}:{self.key}"

    @property
    def token_s(self) -> float:
        """Time until one token comes back."""
        return 1 / self.per_s

    @property
    def fill_s(self) -> float:
        """Time until an empty bucket is full."""
        return self.burst / self.per_s


class Decision(NamedTuple):
    ok: bool
    limit: Limit
    """The limit that refused; if none did, the one with the fewest tokens left."""
    left: int
    full_in_s: float
    retry_after_s: float = 0.0


class RateLimiter(Protocol):
    async def take(self, limits: Sequence[Limit]) -> Decision:
        """Takes one token of each limit, or none at all."""

    async def peek(self, limits: Sequence[Limit]) -> Decision:
        """Decides like `take`, but takes nothing."""

    async def give_back(self, limits: Sequence[Limit]) -> None:
        """Returns the tokens of a request that was taken, but did nothing."""


class MemoryRateLimiter:
    """Keeps its buckets in this process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._full_at: dict[tuple[str, str], float] = {}

    async def take(self, limits: Sequence[Limit]) -> Decision:
        return self.take_now(limits)

    async def peek(self, limits: Sequence[Limit]) -> Decision:
        return self.peek_now(limits)

    async def give_back(self, limits: Sequence[Limit]) -> None:
        for name, key, per_s, _ in limits:
            if (name, key) in self._full_at:
                self._full_at[name, key] -= 1 / per_s

    def take_now(self, limits: Sequence[Limit]) -> Decision:
        now = self._clock()
        waits = self._waits(limits, now)
        decision = decide(limits, waits)
        if decision.ok:
            full_at = self._full_at
            for (name, key, per_s, _), wait_s in zip(limits, waits, strict=True):
                full_at[name, key] = now + wait_s + 1 / per_s
            if len(full_at) > MAX_BUCKETS:
                self._drop_full(now)
        return decision

    def peek_now(self, limits: Sequence[Limit]) -> Decision:
        return decide(limits, self._waits(limits, self._clock()))

    def _waits(self, limits: Sequence[Limit], now: float) -> list[float]:
        full_at = self._full_at
        return [max(0.0, full_at.get((name, key), now) - now) for name, key, _, _ in limits]

    def _drop_full(self, now: float) -> None:
        """Drops buckets that are full; if these are too few, also those that soon will be."""
        kept = sorted(
            ((at, name) for name, at in self._full_at.items() if at > now), reverse=True
        )
        self._full_at = {name: at for at, name in kept[: MAX_BUCKETS // 2]}


def decide(limits: Sequence[Limit], full_in_s: Sequence[float]) -> Decision:
    """Decides from the time that each bucket takes to be full."""
    nearest: Decision | None = None
    for limit, wait_s in zip(limits, full_in_s, strict=True):
        token_s = 1 / limit.per_s
        after_s = wait_s + token_s
        fill_s = limit.burst * token_s
        # Rounding errors of many small times must not cost a token.
        if after_s - fill_s > token_s * 1e-6:
            over_s = after_s - fill_s
            if nearest is None or nearest.ok or over_s > nearest.retry_after_s:
                nearest = Decision(False, limit, 0, wait_s, over_s)
        else:
            left = int((fill_s - after_s) / token_s + 1e-6)
            if nearest is None or (nearest.ok and left < nearest.left):
                nearest = Decision(True, limit, left, after_s)
    assert nearest is not None, "there is at least one limit"
    return nearest


@functools.lru_cache(10_000)
def network_of(address: str | None) -> str:
    """Returns the /64 of an IPv6 address, because a household has 2⁶⁴ of them."""
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
