"""Token buckets that several API processes share, in Redis; each by itself while it is away."""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from deemster.cache.redis import connect
from deemster.limits.buckets import Buckets, Limit, MemoryBuckets, Taken, decide

log = structlog.get_logger()
PATIENCE_S: Final = 0.25
REST_S: Final = 2.0
"""After Redis did not answer, it is left alone for so long."""

TAKE: Final = """
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local waits, ok = {}, 1
for i, key in ipairs(KEYS) do
    local step, most = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
    local wait = math.max(0, tonumber(redis.call('GET', key) or now) - now)
    if wait + step - most > step * 0.000001 then ok = 0 end
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


class RedisBuckets:
    def __init__(self, redis: Redis, prefix: str) -> None:
        self._script = redis.register_script(TAKE)
        self._prefix = prefix
        self._own = MemoryBuckets()
        self._rests_until = 0.0

    async def take(self, limits: Sequence[Limit]) -> Taken:
        waits = await self._ask(limits, take=True)
        return decide(limits, waits) if waits is not None else await self._own.take(limits)

    async def look(self, limits: Sequence[Limit]) -> Taken:
        waits = await self._ask(limits, take=False)
        return decide(limits, waits) if waits is not None else await self._own.look(limits)

    async def _ask(self, limits: Sequence[Limit], *, take: bool) -> list[float] | None:
        if time.monotonic() < self._rests_until:
            return None
        keys = [f"{self._prefix}:bucket:{limit.id}" for limit in limits]
        numbers = [number for limit in limits for number in (limit.step_s, limit.most_s)]
        try:
            answer = await self._script(keys=keys, args=[int(take), *numbers])
        except (RedisError, OSError, TimeoutError) as fault:
            self._rests_until = time.monotonic() + REST_S
            log.warning("buckets.unavailable", error=type(fault).__name__)
            return None
        return [float(wait_s) for wait_s in answer]


@asynccontextmanager
async def open_buckets(url: str | None, env: str) -> AsyncIterator[Buckets]:
    if url is None:
        yield MemoryBuckets()
        return
    redis = connect(url, PATIENCE_S)
    try:
        yield RedisBuckets(redis, f"deemster:{env}")
    finally:
        await redis.aclose()
