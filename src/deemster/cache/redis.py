"""What API processes share in Redis; when it is away or slow, nobody waits for it."""

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

PATIENCE_S: Final = 0.08
REST_S: Final = 5.0
"""After Redis did not answer, it is left alone for so long."""
MOST_CONNECTIONS: Final = 20
FORM: Final = b"deemster1:"
"""Before each value; whatever begins otherwise is not ours."""
MOST_BYTES: Final = 1 << 20
"""Of a value: larger ones are looked up by each process."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Lent:
    body: bytes
    age_s: float


class RedisCache:
    def __init__(
        self,
        redis: Redis,
        env: str,
        *,
        clock: Callable[[], float] = time.monotonic,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._redis = redis
        self._patience_s = patience_s
        self._prefix = f"deemster:{env}:cache:"
        self._clock = clock
        self._rests_until_s = 0.0

    async def get(self, kind: Public, key: str) -> Lent | None:
        if not self._takes(kind):
            return None
        name = self._prefix + key
        try:
            async with asyncio.timeout(self._patience_s):
                # How long it is kept still tells its age, whatever the clocks say.
                async with self._redis.pipeline(transaction=True) as pipe:
                    pipe.get(name)
                    pipe.pttl(name)
                    value, left_ms = await pipe.execute()
        except (RedisError, OSError) as fault:
            self._rest(kind, fault)
            return None
        if not isinstance(value, bytes) or not value.startswith(FORM) or left_ms <= 0:
            count(kind, "miss")
            return None
        count(kind, "hit")
        return Lent(value.removeprefix(FORM), max(0.0, kind.kept_s - left_ms / 1000))

    async def put(self, kind: Public, key: str, body: bytes) -> None:
        if not self._takes(kind) or len(body) > MOST_BYTES:
            return
        try:
            async with asyncio.timeout(self._patience_s):
                kept_ms = int(kind.kept_s * 1000)
                await self._redis.set(self._prefix + key, FORM + body, px=kept_ms)
        except (RedisError, OSError) as fault:
            self._rest(kind, fault)

    def _takes(self, kind: Public) -> bool:
        assert isinstance(kind, Public), "what is private stays in its process (C4)"
        return not isinstance(kind, Local) and self._clock() >= self._rests_until_s

    def _rest(self, kind: Public, fault: Exception) -> None:
        count(kind, "down")
        now_s = self._clock()
        if now_s >= self._rests_until_s:
            log.warning("cache.redis_rests", error=type(fault).__name__, rest_s=REST_S)
            self._rests_until_s = now_s + REST_S


def connect(url: str, patience_s: float = PATIENCE_S) -> Redis:
    """Who finds all connections in use waits a moment, no longer than for an answer."""
    pool = BlockingConnectionPool.from_url(
        url,
        max_connections=MOST_CONNECTIONS,
        timeout=patience_s,
        socket_timeout=patience_s,
        socket_connect_timeout=patience_s,
        retry=None,
    )
    return Redis.from_pool(pool)


def count(kind: Public, outcome: str) -> None:
    SHARED_CACHE.labels(kind.name, outcome).inc()
