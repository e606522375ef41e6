"""Token buckets: how much of something may come at once, and how fast it may come again (D2).

Each is kept as one number, the time at which it will be full again (the generic cell rate
algorithm), so that taking is one comparison and nothing has to be refilled.
"""

import ipaddress
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

MOST_KNOWN: Final = 200_000
"""Buckets that are not full; beyond that the ones that will be full soonest are forgotten."""


@dataclass(frozen=True, slots=True)
class Limit:
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


@dataclass(frozen=True, slots=True)
class Taken:
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


class OwnBuckets:
    """In the memory of this process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._full_at: dict[str, float] = {}

    async def take(self, limits: Sequence[Limit]) -> Taken:
        return self.take_now(limits)

    async def look(self, limits: Sequence[Limit]) -> Taken:
        return decide(limits, self._waits(limits, self._clock()))

    def take_now(self, limits: Sequence[Limit]) -> Taken:
        now = self._clock()
        waits = self._waits(limits, now)
        taken = decide(limits, waits)
        if taken.ok:
            for limit in limits:
                self._full_at[limit.id] = now + waits[limit.id] + limit.step_s
            if len(self._full_at) > MOST_KNOWN:
                self._forget(now)
        return taken

    def look_now(self, limits: Sequence[Limit]) -> Taken:
        return decide(limits, self._waits(limits, self._clock()))

    def _waits(self, limits: Sequence[Limit], now: float) -> dict[str, float]:
        return {limit.id: max(0.0, self._full_at.get(limit.id, now) - now) for limit in limits}

    def _forget(self, now: float) -> None:
        """Those that are full again; if they are too few, also those that soon will be."""
        kept = sorted(
            ((at, name) for name, at in self._full_at.items() if at > now), reverse=True
        )
        self._full_at = {name: at for at, name in kept[: MOST_KNOWN // 2]}


def decide(limits: Sequence[Limit], full_in_s: Mapping[str, float]) -> Taken:
    """From how long each bucket takes to be full as it is now."""
    answers = []
    for limit in limits:
        after_s = full_in_s[limit.id] + limit.step_s
        over_s = after_s - limit.most_s
        # Sums of many small times are a little off; a token is not lost for that.
        if over_s > limit.step_s * 1e-6:
            answers.append(Taken(False, limit, 0, full_in_s[limit.id], over_s))
        else:
            left = math.floor((limit.most_s - after_s) / limit.step_s + 1e-6)
            answers.append(Taken(True, limit, left, after_s))
    return min(answers, key=lambda each: (each.ok, -each.retry_after_s, each.left))


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
