"""The part of the cache that API processes share in Redis; an outage of Redis is no error."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import structlog
from redis.asyncio import BlockingConnectionPool, Redis
from redis.exceptions import RedisError

from deemster.cache.kinds import Local, Public
from deemster.metrics import SHARED_CACHE

TIMEOUT_S: Final = 0.08
PAUSE_S: Final = 5.0
"""After a failure Redis is not asked for this time."""
MAX_CONNECTIONS: Final = 20
PREFIX: Final = b"deemster1:"
"""Every value starts with it; other values were not written by this version of the cache."""
MAX_BYTES: Final = 1 << 20
"""Larger values are not shared."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class SharedValue:
    body: bytes
    age_s: float


class RedisCache:
    def __init__(
        self,
        redis: Redis,
        env: str,
        *,
        clock: Callable[[], float] = time.monotonic,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._redis = redis
        self._timeout_s = timeout_s
        self._prefix = f"deemster:{env}:cache:"
        self._clock = clock
        self._paused_until_s = 0.0

    async def get(self, kind: Public, key: str) -> SharedValue | None:
        if not self._is_used_for(kind):
            return None
        name = self._prefix + key
        try:
            async with asyncio.timeout(self._timeout_s):
                # The remaining lifetime gives the age, even if machines' clocks differ.
                async with self._redis.pipeline(transaction=True) as pipe:
                    pipe.get(name)
                    pipe.pttl(name)
                    value, left_ms = await pipe.execute()
        except (RedisError, OSError) as fault:
            self._pause(kind, fault)
            return None
        if not isinstance(value, bytes) or not value.startswith(PREFIX) or left_ms <= 0:
            count(kind, "miss")
            return None
        count(kind, "hit")
        return SharedValue(value.removeprefix(PREFIX), max(0.0, kind.kept_s - left_ms / 1000))

    async def put(self, kind: Public, key: str, body: bytes) -> None:
        if not self._is_used_for(kind) or len(body) > MAX_BYTES:
            return
        try:
            async with asyncio.timeout(self._timeout_s):
                kept_ms = int(kind.kept_s * 1000)
                await self._redis.set(self._prefix + key, PREFIX + body, px=kept_ms)
        except (RedisError, OSError) as fault:
            self._pause(kind, fault)

    def _is_used_for(self, kind: Public) -> bool:
        assert isinstance(kind, Public), "private entries stay in their process (C4)"
        return not isinstance(kind, Local) and self._clock() >= self._paused_until_s

    def _pause(self, kind: Public, fault: Exception) -> None:
        count(kind, "down")
        now_s = self._clock()
        if now_s >= self._paused_until_s:
            log.warning("cache.redis_paused", error=type(fault).__name__, pause_s=PAUSE_S)
            self._paused_until_s = now_s + PAUSE_S


def connect(url: str, timeout_s: float = TIMEOUT_S) -> Redis:
    """If all connections are in use, a caller waits at most `timeout_s` for one."""
    pool = BlockingConnectionPool.from_url(
        url,
        max_connections=MAX_CONNECTIONS,
        timeout=timeout_s,
        socket_timeout=timeout_s,
        socket_connect_timeout=timeout_s,
        retry=None,
    )
    return Redis.from_pool(pool)


def count(kind: Public, outcome: str) -> None:
    SHARED_CACHE.labels(kind.name, outcome).inc()
