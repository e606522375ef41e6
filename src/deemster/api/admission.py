"""Whether a submission may come now: rates, the floodgate, and who would judge it (D1, D2)."""

import math
from typing import Final

from starlette.requests import Request

from deemster.api.dependencies import Dependencies
from deemster.api.live_workers import LiveWorkers
from deemster.domain.account import Account, Role
from deemster.domain.errors import LimitReached, Unavailable
from deemster.limits.rate_limiter import Decision, Limit, MemoryRateLimiter, network_of
from deemster.pipeline.accept.load_shedding import LoadShedder
from deemster.store.pool import connection
from deemster.store.submission_inserts import is_key_taken

MINUTE_S: Final = 60


class TooMany(LimitReached):
    """Faster than the rate that is allowed."""

    code = "rate_limited"


class Admission:
    def __init__(self, dependencies: Dependencies, live_workers: LiveWorkers) -> None:
        self._dependencies = dependencies
        self._live_workers = live_workers
        settings = dependencies.settings
        self._own = MemoryRateLimiter()
        self._a_second = settings.requests_per_second_user
        self._gate = LoadShedder(
            dependencies.pool, high=settings.queue_high, low=settings.queue_low
        )
        self._policy = policy_of(
            {
                "user": (settings.submits_per_minute_user, MINUTE_S),
                "problem-interval": (1, settings.submit_interval_s),
                "day": (settings.daily_quota, 24 * 3600),
            }
        )

    def count_request(self, caller: Account) -> None:
        """Of any kind. Counted by each process for itself: it must cost next to nothing."""
        if caller.role is not Role.ADMIN:
            limit = Limit("request.user", caller.id, self._a_second, self._a_second)
            refuse(self._own.take_now([limit]), "You send requests too fast")

    async def admit(self, request: Request, caller: Account, key: str | None) -> dict[str, str]:
        """Headers for the answer; a refusal makes nothing and says why."""
        headers = {}
        if caller.role is not Role.ADMIN:
            taken = await self._dependencies.rate_limiter.take(self._limits(request, caller))
            headers = {**rate_headers(taken), "RateLimit-Policy": self._policy}
            await self._refuse(taken, "You send submissions too fast", caller, key)
        try:
            await self._gate.check()
            warning = await self._live_workers.warning()
        except Unavailable:
            if not await self.was_answered(caller, key):
                raise
            warning = None
        return {**headers, "Warning": warning} if warning else headers

    async def admit_for(self, problem: str, caller: Account, key: str | None) -> None:
        """When it is known what for."""
        if caller.role is Role.ADMIN:
            return
        limit = a_minute(
            "submit.problem", problem, self._dependencies.settings.submits_per_minute_problem
        )
        taken = await self._dependencies.rate_limiter.take([limit])
        said = "Too many people hand in for this problem just now"
        await self._refuse(taken, said, caller, key)

    async def was_answered(self, caller: Account, key: str | None) -> bool:
        """Then it is answered as before, whatever holds now: that makes nothing (I1)."""
        if key is None:
            return False
        async with connection(self._dependencies.pool) as acquired:
            return await is_key_taken(acquired, caller.id, key)

    async def _refuse(
        self, taken: Decision, said: str, caller: Account, key: str | None
    ) -> None:
        if not taken.ok and not await self.was_answered(caller, key):
            refuse(taken, said)

    def _limits(self, request: Request, caller: Account) -> list[Limit]:
        settings = self._dependencies.settings
        return [
            a_minute("submit.user", caller.id, settings.submits_per_minute_user),
            a_minute("submit.ip", address_of(request), settings.submits_per_minute_ip),
        ]


def address_of(request: Request) -> str:
    """Whom a request comes from, as limits see it."""
    return network_of(request.client.host if request.client else None)


def a_minute(name: str, key: str, most: int) -> Limit:
    return Limit(name, key, most / MINUTE_S, most)


def refuse(taken: Decision, said: str) -> None:
    if not taken.ok:
        wait_s = max(taken.retry_after_s, 1.0)
        most = taken.limit.burst
        raise TooMany(f"{said}: try again in {math.ceil(wait_s)} s.", wait_s, limit=most)


def rate_headers(taken: Decision) -> dict[str, str]:
    """Of the limit that is nearest."""
    return {
        "RateLimit-Limit": str(taken.limit.burst),
        "RateLimit-Remaining": str(taken.left),
        "RateLimit-Reset": str(math.ceil(taken.full_in_s)),
    }


def policy_of(policies: dict[str, tuple[int | None, float]]) -> str:
    """What holds here: `60;w=60;name="user"` is sixty in sixty seconds."""
    return ", ".join(
        f'{most};w={math.ceil(window_s)};name="{name}"'
        for name, (most, window_s) in policies.items()
        if most is not None and window_s > 0
    )
