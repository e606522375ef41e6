"""Decides whether a program is accepted now: rate limits, load, live workers (D1, D2)."""

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final
from weakref import WeakValueDictionary

import structlog
from starlette.requests import ClientDisconnect, HTTPConnection, Request

from deemster.api.dependencies import Dependencies
from deemster.api.http.errors import NoWorkers, Overloaded
from deemster.cache.single_flight import SingleFlightCache
from deemster.domain.account import Account, Role
from deemster.domain.errors import DeemsterError, LimitReached
from deemster.domain.ids import AccountId
from deemster.limits.rate_limiter import (
    Decision,
    Limit,
    MemoryRateLimiter,
    RateLimiter,
    network_of,
)
from deemster.store import executions, workers
from deemster.store.pool import Connection, Pool, connection
from deemster.store.submissions import count_urgent
from deemster.store.workers import WorkerView, rate_per_s

log = structlog.get_logger()
KEPT_S: Final = 1.0
"""The queue depth is read at most once in this time."""
MIN_RETRY_S: Final = 5.0
MAX_RETRY_S: Final = 300.0


class LoadShedder:
    """Starts to refuse at the high watermark, and stops only at the low one."""

    def __init__(
        self,
        pool: Pool,
        count: Callable[[Connection], Awaitable[int]],
        what: str,
        *,
        high: int,
        low: int,
    ) -> None:
        self._pool = pool
        self._count = count
        self._what = what
        self._high = high
        self._low = low
        self._refusing = False
        self._retry_after_s = MIN_RETRY_S
        self._measured: SingleFlightCache[None, None] = SingleFlightCache(
            self._measure, keep_s=KEPT_S
        )

    async def check(self) -> None:
        await self._measured.get(None)
        if self._refusing:
            raise Overloaded(
                f"Too many {self._what} are waiting, so no new ones are accepted: "
                f"try again in {self._retry_after_s:.0f} s.",
                self._retry_after_s,
            )

    async def _measure(self, _: None) -> None:
        async with connection(self._pool) as acquired:
            waiting = await self._count(acquired)
            per_s = await rate_per_s(acquired) if waiting >= self._low else None
        if self._refusing and waiting <= self._low:
            log.info("load_shedding.stopped", what=self._what, waiting=waiting, low=self._low)
            self._refusing = False
        elif not self._refusing and waiting >= self._high:
            log.error(
                "load_shedding.started", what=self._what, waiting=waiting, high=self._high
            )
            self._refusing = True
        wait_s = (waiting - self._low) / per_s if per_s else MAX_RETRY_S
        self._retry_after_s = min(max(wait_s, MIN_RETRY_S), MAX_RETRY_S)


MINUTE_S: Final = 60
WORKERS_KEPT_S: Final = 1.0
RETRY_S: Final = 15.0
WARNING: Final = '199 deemster "No worker takes jobs: the program waits until one does."'


class RateLimited(LimitReached):
    code = "rate_limited"


class LiveWorkers:
    """The workers that take jobs, read from the database at most once a second (Q15)."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies
        self._workers: SingleFlightCache[None, Sequence[WorkerView]] = SingleFlightCache(
            self._read, keep_s=WORKERS_KEPT_S
        )

    async def get(self) -> Sequence[WorkerView]:
        return await self._workers.get(None)

    async def warning(self) -> str | None:
        """A header for programs that no worker would run; the setting may refuse them."""
        if await self.get():
            return None
        if self._dependencies.settings.without_workers == "accept":
            return WARNING
        raise NoWorkers("No worker takes jobs, so nothing can be run: try again later.")

    async def _read(self, _: None) -> Sequence[WorkerView]:
        async with connection(self._dependencies.pool) as acquired:
            return [each for each in await workers.list_alive(acquired) if not each.draining]


class RateTokens:
    """The tokens that one request has taken; if it creates nothing, it gives them back (D2)."""

    def __init__(self, rate_limiter: RateLimiter) -> None:
        self._rate_limiter = rate_limiter
        self._taken: list[Limit] = []

    async def take(self, limits: Sequence[Limit], reason: str) -> Decision:
        """Refuses with the reason if a limit is reached."""
        decision = await self._rate_limiter.take(limits)
        refuse(decision, reason)
        self._taken += limits
        return decision

    async def give_back(self) -> None:
        taken, self._taken = self._taken, []
        if taken:
            await self._rate_limiter.give_back(taken)


class Admission:
    def __init__(self, dependencies: Dependencies, live_workers: LiveWorkers) -> None:
        settings = dependencies.settings
        self._settings = settings
        self._pool = dependencies.pool
        self._rate_limiter = dependencies.rate_limiter
        self._live_workers = live_workers
        self._process_limiter = MemoryRateLimiter()
        self._live_turns = WeakValueDictionary[AccountId, asyncio.Lock]()
        marks = {"high": settings.queue_high, "low": settings.queue_low}
        self._load_shedder = LoadShedder(
            dependencies.pool, count_urgent, "submissions", **marks
        )
        self._execution_shedder = LoadShedder(
            dependencies.pool, executions.count_waiting, "executions", **marks
        )
        self._policy = rate_limit_policy(
            {
                "user": (settings.submits_per_minute_user, MINUTE_S),
                "problem-interval": (1, settings.submit_interval_s),
                "day": (settings.daily_quota, 24 * 3600),
            }
        )

    @asynccontextmanager
    async def rate_tokens(self) -> AsyncIterator[RateTokens]:
        """A request that is refused within uses up no rate."""
        tokens = RateTokens(self._rate_limiter)
        try:
            yield tokens
        except (DeemsterError, ClientDisconnect):
            await tokens.give_back()
            raise

    def count_request(self, caller: Account) -> None:
        """Counts any request. Each process counts for itself, because this must be cheap."""
        if caller.role is not Role.ADMIN:
            per_s = self._settings.requests_per_second_user
            limit = Limit("request.user", caller.id, per_s, per_s)
            refuse(self._process_limiter.take_now([limit]), "You send requests too fast")

    async def admit(
        self, request: Request, caller: Account, tokens: RateTokens
    ) -> dict[str, str]:
        """Returns headers for the response, or refuses; a refused request creates nothing."""
        headers = {}
        if caller.role is not Role.ADMIN:
            settings = self._settings
            decision = await tokens.take(
                [
                    per_minute("submit.user", caller.id, settings.submits_per_minute_user),
                    per_minute(
                        "submit.ip", network_address(request), settings.submits_per_minute_ip
                    ),
                ],
                "You send submissions too fast",
            )
            headers = {**rate_limit_headers(decision), "RateLimit-Policy": self._policy}
        await self._load_shedder.check()
        warning = await self._live_workers.warning()
        return {**headers, "Warning": warning} if warning else headers

    async def admit_heng_task(self) -> None:
        """Has no limit per user: a heng client submits for many users, and an admin has given
        it its key.
        """
        await self._load_shedder.check()
        await self._live_workers.warning()

    async def admit_execution(
        self, request: HTTPConnection, caller: Account, tokens: RateTokens
    ) -> None:
        """Refuses an execution that comes too fast, or that would wait for too many others; a
        refused request creates nothing.
        """
        if caller.role is not Role.ADMIN:
            settings = self._settings
            address = network_address(request)
            await tokens.take(
                [
                    per_minute("execute.user", caller.id, settings.executions_per_minute_user),
                    per_minute("submit.ip", address, settings.submits_per_minute_ip),
                ],
                "You run programs too fast",
            )
        await self._execution_shedder.check()
        await self._live_workers.warning()

    @asynccontextmanager
    async def live_turn(self, caller: Account) -> AsyncIterator[None]:
        """Hold it from `admit_live` until the execution is stored: of many requests at the same
        time, each counts those before it.
        """
        turn = self._live_turns.setdefault(caller.id, asyncio.Lock())
        async with turn:
            yield

    async def admit_live(self, caller: Account) -> None:
        """Refuses typed input to a user who has as many such executions as one may have: their
        programs run as long as people take, and others must find a slot.
        """
        most = self._settings.live_executions_per_user
        if caller.role is Role.ADMIN:
            return
        async with connection(self._pool) as acquired:
            if await executions.count_live(acquired, caller.id) < most:
                return
        raise RateLimited(
            f"You have {most} programs with typed input: end one of them.", RETRY_S, limit=most
        )

    async def warning_headers(self) -> dict[str, str]:
        """Of the response to an accepted execution (Q15)."""
        return {} if await self._live_workers.get() else {"Warning": WARNING}

    async def admit_to_problem(self, problem: str, caller: Account, tokens: RateTokens) -> None:
        if caller.role is Role.ADMIN:
            return
        per_problem = self._settings.submits_per_minute_problem
        await tokens.take(
            [per_minute("submit.problem", problem, per_problem)],
            "This problem gets too many submissions",
        )


def network_address(request: HTTPConnection) -> str:
    """The client's address; IPv6 addresses of one network count as one."""
    return network_of(request.client.host if request.client else None)


def per_minute(name: str, key: str, most: int) -> Limit:
    return Limit(name, key, most / MINUTE_S, most)


def refuse(decision: Decision, reason: str) -> None:
    """Raises `RateLimited` if the limit is reached."""
    if not decision.ok:
        wait_s = max(decision.retry_after_s, 1.0)
        message = f"{reason}: try again in {math.ceil(wait_s)} s."
        raise RateLimited(
            message, wait_s, limit=decision.limit.burst, limit_name=decision.limit.name
        )


def rate_limit_headers(decision: Decision) -> dict[str, str]:
    return {
        "RateLimit-Limit": str(decision.limit.burst),
        "RateLimit-Remaining": str(decision.left),
        "RateLimit-Reset": str(math.ceil(decision.full_in_s)),
    }


def rate_limit_policy(policies: dict[str, tuple[int | None, float]]) -> str:
    """Writes all limits in one header: `60;w=60;name="user"` is sixty in sixty seconds."""
    return ", ".join(
        f'{most};w={math.ceil(window_s)};name="{name}"'
        for name, (most, window_s) in policies.items()
        if most is not None and window_s > 0
    )
