"""Measures a burst of submissions on a private service with all roles."""

import asyncio
import atexit
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Final

import httpx

from deemster.bench.estimates import Estimates
from deemster.bench.fairness import fairness
from deemster.bench.load.driver import Driver, LoadRequest, LoadResult
from deemster.bench.load.processes import forked, free_address, until_answered
from deemster.bench.load.redis_server import run_redis
from deemster.bench.load.service import HOG, BenchService, open_service, submission_body
from deemster.bench.machine import describe_machine
from deemster.domain.errors import Unavailable
from deemster.settings import child_environment
from deemster.store import consistency, stats
from deemster.store.pool import connection
from deemster.wiring.address import Address
from deemster.wiring.forked_process import ForkServerClient, open_fork_server

ROLES: Final = ("api", "relay", "worker", "keeper")
STANDARD_ERROR: Final = 2
CONNECTIONS: Final = 200
WARM_UP: Final = 40
"""Submissions before the burst, because the first ones cost more."""
HOG_S: Final = 5.0
"""Time in which the hog sends its submissions."""
POLL_S: Final = 0.5
SETTLED_S: Final = 15.0
"""After the burst the machine judges faster; the API's estimates need this time to follow."""
STUCK_S: Final = 120.0


NO_LIMITS: Final[dict[str, Any]] = {
    "requests_per_second_user": 100_000,
    "submits_per_minute_user": 100_000,
    "submit_interval_s": 0,
}


class Queue(StrEnum):
    POSTGRES = "postgres"
    REDIS = "redis"


@dataclass(frozen=True, slots=True)
class Plan:
    count: int
    seconds: float
    watch_s: float
    until_judged: bool
    hog: int = 0
    """Number of submissions of one more user, which already wait when the burst starts."""


async def measure(
    plan: Plan, users: int, queue: Queue, directory: Path | None
) -> dict[str, Any]:
    async with (
        open_service(directory, users) as service,
        start_roles(service, queue) as address,
        httpx.AsyncClient(
            base_url=address.url, headers={"Authorization": f"Bearer {service.admin}"}
        ) as client,
        Driver.open() as driver,
    ):
        burst = Burst(service, address, driver, plan, client)
        await burst.warm_up()
        result = await burst.run()
    return {
        **result,
        "queue": queue.value,
        "users": users,
        "machine": describe_machine(),
    }


@asynccontextmanager
async def start_roles(
    service: BenchService,
    queue: Queue,
    *,
    roles: Sequence[str] = ROLES,
    ready_path: str = "/readyz",
    pids: dict[str, int] | None = None,
    **settings: object,
) -> AsyncIterator[Address]:
    """The first of the roles is the API, which has started when `ready_path` answers.

    `pids` is filled with the process ids of the roles.
    """
    address = free_address()
    overrides: dict[str, object] = {
        "host": address.host,
        "port": address.port,
        # All submissions come from one address, as from a school.
        "submits_per_minute_ip": 1_000_000,
        "submits_per_minute_problem": 1_000_000,
        **settings,
    }
    async with AsyncExitStack() as stack:
        if queue is Queue.REDIS:
            overrides["queue_url"] = await stack.enter_async_context(
                run_redis(service.directory)
            )
        environment = service.environment(**overrides)
        processes = {
            name: await stack.enter_async_context(
                forked(fork_server(), name, environment, service.log(name))
            )
            for name in roles
        }
        if pids is not None:
            pids.update({name: process.pid for name, process in processes.items()})
        await until_answered(address, ready_path, processes[roles[0]], service.log("api"))
        yield address


@cache
def fork_server() -> ForkServerClient:
    """As `deemster up` does it: the imports of each role would take longer than its start. One
    server for all measurements of this process; it ends with it.
    """
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(open_fork_server(ROLES, child_environment(), STANDARD_ERROR))


class Burst:
    def __init__(
        self,
        service: BenchService,
        address: Address,
        driver: Driver,
        plan: Plan,
        client: httpx.AsyncClient,
    ) -> None:
        self._service = service
        self._address = address
        self._driver = driver
        self._plan = plan
        self._during = Estimates(client, service.pool)
        self._after = Estimates(client, service.pool)
        self._deepest = 0
        self._newest = 0
        self._judged = 0
        self._since_s = 0.0

    async def warm_up(self) -> None:
        count = min(WARM_UP, self._plan.count // 2)
        # Not by the users of the burst, whose submit interval would not be over yet.
        hog = [self._service.hog]
        await self._send(first=0, count=count, seconds=1, tokens=hog)
        await self._until_idle()
        self._since_s = time.time()
        if self._plan.hog:
            await self._send(first=count, count=self._plan.hog, seconds=HOG_S, tokens=hog)
        async with connection(self._service.pool) as acquired:
            self._newest = await stats.newest_event(acquired)
        self._judged = self._deepest = 0

    async def run(self) -> dict[str, Any]:
        plan = self._plan
        now = asyncio.get_running_loop().time
        began = now()
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(self._watch_burst(plan.seconds / 2))
            first = WARM_UP + plan.hog
            result = await self._send(first=first, count=plan.count, seconds=plan.seconds)
            watching.cancel()
        judged_in_burst, took_s, sent_s = self._judged, now() - began, time.time()
        await self._watch_after(judged_in_burst / took_s)
        watched_s = now() - began
        return {
            "count": plan.count,
            "seconds": plan.seconds,
            "accept": figures(result),
            "refused": dict(result.refused),
            "errors": dict(result.errors),
            **await self._count(result),
            "deepest": self._deepest,
            "judged_per_s": round(self._judged / watched_s, 1),
            "drained_s": await self._drained_s(result.ids, sent_s),
            "queue_empty_s": round(watched_s - took_s, 1) if plan.until_judged else None,
            "during": await self._during.compare(),
            "after": await self._after.compare(),
            "fairness": await self._fairness(),
        }

    async def _watch_burst(self, middle_s: float) -> None:
        now = asyncio.get_running_loop().time
        began = now()
        asked = False
        while True:
            await self._poll()
            passed_s = now() - began
            if not asked and passed_s >= middle_s:
                asked = True
                rate = self._judged / passed_s
                left_s = self._plan.seconds - passed_s + self._plan.watch_s
                await self._during.ask(self._reach(rate, left_s))
            await asyncio.sleep(POLL_S)

    async def _watch_after(self, rate: float) -> None:
        now = asyncio.get_running_loop().time
        began, watch_s = now(), self._plan.watch_s
        settled_s = min(SETTLED_S, watch_s / 4)
        asked = False
        while await self._poll():
            passed_s = now() - began
            if not asked and passed_s >= settled_s:
                asked = True
                await self._after.ask(self._reach(rate, watch_s - passed_s))
            if passed_s > watch_s:
                break
            await asyncio.sleep(POLL_S)
        if self._plan.until_judged:
            await self._until_idle()

    def _reach(self, rate: float, left_s: float) -> int:
        """Number of waiting submissions that will be started while this benchmark watches."""
        return self._plan.count if self._plan.until_judged else max(1, int(0.8 * rate * left_s))

    async def _poll(self) -> bool:
        """Whether any submission waits or runs."""
        async with connection(self._service.pool) as acquired:
            found = await stats.read_live_stats(acquired, after=self._newest)
        self._newest = found.newest
        self._judged += found.judged
        self._deepest = max(self._deepest, found.waiting)
        return bool(found.waiting or found.running)

    async def _until_idle(self) -> None:
        now = asyncio.get_running_loop().time
        judged, since = self._judged, now()
        while await self._poll():
            if self._judged > judged:
                judged, since = self._judged, now()
            if now() - since > STUCK_S:
                raise Unavailable(
                    f"No submission was judged for {STUCK_S:g} s: try fewer submissions."
                )
            await asyncio.sleep(POLL_S)

    async def _drained_s(self, ids: Sequence[str], sent_s: float) -> float | None:
        """Time from the last submission of the burst to the last verdict for one of the burst;
        those of the hog may come later.
        """
        if not self._plan.until_judged or not ids:
            return None
        async with connection(self._service.pool) as acquired:
            return round(await consistency.last_end_s(acquired, ids) - sent_s, 1)

    async def _fairness(self) -> dict[str, Any] | None:
        if not self._plan.hog:
            return None
        async with connection(self._service.pool) as acquired:
            waits = await consistency.list_waits(acquired, HOG, self._since_s)
        return {"queued": self._plan.hog, **fairness(waits)}

    async def _send(
        self, *, first: int, count: int, seconds: float, tokens: list[str] | None = None
    ) -> LoadResult:
        request = LoadRequest(
            host=self._address.local_host,
            port=self._address.port,
            tokens=tokens or self._service.tokens,
            body=submission_body(),
            first=first,
            seconds=seconds,
            connections=CONNECTIONS,
            count=count,
        )
        return await self._driver.send(request)

    async def _count(self, result: LoadResult) -> dict[str, int]:
        async with connection(self._service.pool) as acquired:
            found = await consistency.count_rows(acquired, result.ids)
        accepted = len(result.ids)
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


def figures(result: LoadResult) -> dict[str, float]:
    return {
        "per_s": round(result.per_s, 1),
        "p50_ms": round(result.quantile_ms(0.5), 2),
        "p99_ms": round(result.quantile_ms(0.99), 2),
        "worst_ms": round(result.quantile_ms(1), 2),
        "sent_late_ms": result.late_ms,
    }
