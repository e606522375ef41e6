"""A rush of submissions on a running service, watched from the first to the last."""

import asyncio
import time
from dataclasses import dataclass
from typing import Any, Final

import httpx

from deemster.bench.load.driver import Driver
from deemster.bench.load.estimates import Estimates
from deemster.bench.load.fairness import fairness
from deemster.bench.load.order import LoadOrder, LoadResult
from deemster.bench.load.stage import HOG, BenchService, body
from deemster.domain.errors import Unavailable
from deemster.store import consistency, stats
from deemster.store.pool import connection
from deemster.wiring.address import Address

CONNECTIONS: Final = 200
WARM: Final = 40
"""Submissions before it begins: the first of all pay for what is made once."""
HOG_S: Final = 5.0
"""In which the one with many sends them."""
LOOK_S: Final = 0.5
SETTLED_S: Final = 15.0
"""When the rush is over, this machine judges faster; what the API tells follows that."""
STUCK_S: Final = 120.0


@dataclass(frozen=True, slots=True)
class Plan:
    count: int
    seconds: float
    watch_s: float
    until_judged: bool
    hog: int = 0
    """Submissions of one user more, which wait already when it begins."""


class Rush:
    def __init__(
        self,
        stage: BenchService,
        address: Address,
        driver: Driver,
        plan: Plan,
        client: httpx.AsyncClient,
    ) -> None:
        self._stage = stage
        self._address = address
        self._driver = driver
        self._plan = plan
        self._during = Estimates(client, stage.pool)
        self._after = Estimates(client, stage.pool)
        self._deepest = 0
        self._newest = 0
        self._judged = 0
        self._since_s = 0.0

    async def warm_up(self) -> None:
        count = min(WARM, self._plan.count // 2)
        # Not by those who come later: they would come too soon after it.
        hog = [self._stage.hog]
        warming = self._order(first=0, count=count, seconds=1, tokens=hog)
        await self._driver.carry_out(warming)
        await self._until_idle()
        self._since_s = time.time()
        if self._plan.hog:
            order = self._order(first=count, count=self._plan.hog, seconds=HOG_S, tokens=hog)
            await self._driver.carry_out(order)
        async with connection(self._stage.pool) as acquired:
            self._newest = await stats.newest_event(acquired)
        self._judged = self._deepest = 0

    async def run(self) -> dict[str, Any]:
        plan = self._plan
        now = asyncio.get_running_loop().time
        began = now()
        async with asyncio.TaskGroup() as group:
            looking = group.create_task(self._look_on(plan.seconds / 2))
            first = WARM + plan.hog
            order = self._order(first=first, count=plan.count, seconds=plan.seconds)
            tale = await self._driver.carry_out(order)
            looking.cancel()
        judged_meanwhile, took_s = self._judged, now() - began
        await self._watch(judged_meanwhile / took_s)
        watched_s = now() - began
        return {
            "count": plan.count,
            "seconds": plan.seconds,
            "accept": figures(tale),
            "refused": dict(tale.refused),
            "errors": dict(tale.errors),
            **await self._count(tale),
            "deepest": self._deepest,
            "judged_per_s": round(self._judged / watched_s, 1),
            "during": await self._during.compare(),
            "after": await self._after.compare(),
            "fairness": await self._fairness(),
        }

    async def _look_on(self, middle_s: float) -> None:
        now = asyncio.get_running_loop().time
        began = now()
        asked = False
        while True:
            await self._look()
            passed_s = now() - began
            if not asked and passed_s >= middle_s:
                asked = True
                rate = self._judged / passed_s
                left_s = self._plan.seconds - passed_s + self._plan.watch_s
                await self._during.ask(self._reach(rate, left_s))
            await asyncio.sleep(LOOK_S)

    async def _watch(self, rate: float) -> None:
        now = asyncio.get_running_loop().time
        began, watch_s = now(), self._plan.watch_s
        settled_s = min(SETTLED_S, watch_s / 4)
        asked = False
        while await self._look():
            passed_s = now() - began
            if not asked and passed_s >= settled_s:
                asked = True
                await self._after.ask(self._reach(rate, watch_s - passed_s))
            if passed_s > watch_s:
                break
            await asyncio.sleep(LOOK_S)
        if self._plan.until_judged:
            await self._until_idle()

    def _reach(self, rate: float, left_s: float) -> int:
        """So far into the line will be judged while we look, with some to spare."""
        return self._plan.count if self._plan.until_judged else max(1, int(0.8 * rate * left_s))

    async def _look(self) -> bool:
        """Whether anything waits or runs."""
        async with connection(self._stage.pool) as acquired:
            found = await stats.read_live_stats(acquired, after=self._newest)
        self._newest = found.newest
        self._judged += found.judged
        self._deepest = max(self._deepest, found.waiting)
        return bool(found.waiting or found.running)

    async def _until_idle(self) -> None:
        now = asyncio.get_running_loop().time
        judged, since = self._judged, now()
        while await self._look():
            if self._judged > judged:
                judged, since = self._judged, now()
            if now() - since > STUCK_S:
                raise Unavailable(f"Nothing was judged for {STUCK_S:g} s: see the logs.")
            await asyncio.sleep(LOOK_S)

    async def _fairness(self) -> dict[str, Any] | None:
        if not self._plan.hog:
            return None
        async with connection(self._stage.pool) as acquired:
            turns = await consistency.list_waits(acquired, HOG, self._since_s)
        return {"queued": self._plan.hog, **fairness(turns)}

    def _order(
        self, *, first: int, count: int, seconds: float, tokens: list[str] | None = None
    ) -> LoadOrder:
        return LoadOrder(
            host=self._address.local_host,
            port=self._address.port,
            tokens=tokens or self._stage.tokens,
            body=body(),
            first=first,
            seconds=seconds,
            connections=CONNECTIONS,
            count=count,
        )

    async def _count(self, tale: LoadResult) -> dict[str, int]:
        async with connection(self._stage.pool) as acquired:
            found = await consistency.count_rows(acquired, tale.ids)
        accepted = len(tale.ids)
        ended = found.judged + found.unjudged
        lost = accepted - min(found.rows, found.events, found.jobs, found.sources)
        if self._plan.until_judged:
            lost += accepted - ended
        return {
            "accepted": accepted,
            "lost": lost,
            "judged": found.judged,
            "failed": found.unjudged,
            "ended_twice": found.ends - ended,
        }


def figures(tale: LoadResult) -> dict[str, float]:
    return {
        "per_s": round(tale.per_s, 1),
        "p50_ms": round(tale.quantile_ms(0.5), 2),
        "p99_ms": round(tale.quantile_ms(0.99), 2),
        "worst_ms": round(tale.quantile_ms(1), 2),
        "sent_late_ms": tale.late_ms,
    }
