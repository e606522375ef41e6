"""Rate limits that API processes share in Redis; without Redis each process counts alone."""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import structlog
from redis.asyncio import Redis
from redis.commands.core import AsyncScript
from redis.exceptions import RedisError

from deemster.cache.redis import connect
from deemster.limits.rate_limiter import (
    Decision,
    Limit,
    MemoryRateLimiter,
    RateLimiter,
    decide,
)

log = structlog.get_logger()
TIMEOUT_S: Final = 0.25
PAUSE_S: Final = 2.0
"""After a failure Redis is not asked for this time."""

TAKE: Final = """
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local waits, ok = {}, 1
for i, key in ipairs(KEYS) do
    local token_s, fill_s = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
    local wait = math.max(0, tonumber(redis.call('GET', key) or now) - now)
    if wait + token_s - fill_s > token_s * 0.000001 then ok = 0 end
    waits[i] = tostring(wait)
end
if ok == 1 and ARGV[1] == '1' then
    for i, key in ipairs(KEYS) do
        local wait = tonumber(waits[i]) + tonumber(ARGV[2 * i])
        local kept_ms = math.ceil(wait * 1000) + 1
        redis.call('SET', key, string.format('%.6f', now + wait), 'PX', kept_ms)
    end
end
return waits
"""


GIVE_BACK: Final = """
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
for i, key in ipairs(KEYS) do
    local wait = tonumber(redis.call('GET', key) or now) - now - tonumber(ARGV[i])
    if wait > 0 then
        local kept_ms = math.ceil(wait * 1000) + 1
        redis.call('SET', key, string.format('%.6f', now + wait), 'PX', kept_ms)
    else
        redis.call('DEL', key)
    end
end
"""


class RedisRateLimiter:
    def __init__(self, redis: Redis, prefix: str) -> None:
        self._take = redis.register_script(TAKE)
        self._give_back = redis.register_script(GIVE_BACK)
        self._prefix = prefix
        self._own = MemoryRateLimiter()
        self._paused_until = 0.0

    async def take(self, limits: Sequence[Limit]) -> Decision:
        waits = await self._ask(limits, take=True)
        return decide(limits, waits) if waits is not None else await self._own.take(limits)

    async def peek(self, limits: Sequence[Limit]) -> Decision:
        waits = await self._ask(limits, take=False)
        return decide(limits, waits) if waits is not None else await self._own.peek(limits)

    async def give_back(self, limits: Sequence[Limit]) -> None:
        """Nothing is lost for long if Redis does not answer: the tokens come back anyway."""
        await self._own.give_back(limits)
        await self._run(self._give_back, limits, [limit.token_s for limit in limits])

    async def _ask(self, limits: Sequence[Limit], *, take: bool) -> list[float] | None:
        numbers = [number for limit in limits for number in (limit.token_s, limit.fill_s)]
        answer = await self._run(self._take, limits, [int(take), *numbers])
        return None if answer is None else [float(wait_s) for wait_s in answer]

    async def _run(
        self, script: AsyncScript, limits: Sequence[Limit], numbers: Sequence[float]
    ) -> Any:
        """Returns None if Redis does not answer, and then does not ask it for a while."""
        if time.monotonic() < self._paused_until:
            return None
        keys = [f"{self._prefix}:bucket:{limit.id}" for limit in limits]
        try:
            return await script(keys=keys, args=numbers)
        except (RedisError, OSError) as fault:
            self._paused_until = time.monotonic() + PAUSE_S
            log.warning("buckets.unavailable", error=type(fault).__name__)
            return None


@asynccontextmanager
async def open_rate_limiter(
    url: str | None, env: str, *, timeout_s: float = TIMEOUT_S
) -> AsyncIterator[RateLimiter]:
    if url is None:
        yield MemoryRateLimiter()
        return
    redis = connect(url, timeout_s)
    try:
        yield RedisRateLimiter(redis, f"deemster:{env}")
    finally:
        await redis.aclose()
