"""C1, C4: the part of the cache that is in Redis, and how it works without Redis."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
from redis.asyncio import Redis

from deemster.cache import redis as redis_cache
from deemster.cache.cache import Cache, Loaded
from deemster.cache.kinds import LANGUAGES, MY_SUBMISSIONS, PROBLEM, STATUS, Public
from deemster.cache.redis import PREFIX, RedisCache, connect
from deemster.domain.account import Account, Role
from deemster.domain.ids import AccountId
from tests.services.redis import OwnRedis
from tests.waiting import PATIENCE_S

TIMEOUT_S = 30.0
"""Redis answers within this time even on a busy machine."""
ADA = Account(AccountId("usr_ada"), "ada", Role.USER)


class Clock:
    def __init__(self) -> None:
        self.now_s = time.monotonic()

    def __call__(self) -> float:
        return self.now_s


class Source:
    def __init__(self, body: bytes = b"from the source") -> None:
        self.loads = 0
        self.body = body

    async def load(self) -> Loaded | None:
        self.loads += 1
        return Loaded(self.body)


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    client = Redis.from_url(redis_url)
    yield client
    await client.aclose()


async def keys_of(redis: Redis, env: str) -> set[str]:
    return {key.decode() async for key in redis.scan_iter(match=f"deemster:{env}:*")}


async def share(redis: Redis, env: str, source: Source, version: int = 7) -> str:
    """Loads an entry in one process and returns its key in Redis."""
    async with Cache.open(await url_of(redis), env, timeout_s=TIMEOUT_S) as cache:
        await cache.get(PROBLEM, "prob_a", source.load, version=version)
    (key,) = await keys_of(redis, env)
    return key


async def url_of(redis: Redis) -> str:
    options = redis.connection_pool.connection_kwargs
    return f"redis://{options['host']}:{options['port']}/{options.get('db') or 0}"


async def test_an_entry_of_one_process_is_found_by_others(redis: Redis, queue_env: str) -> None:
    """C1: the key names kind, selector and version; the kind sets the lifetime."""
    first, second = Source(), Source()
    key = await share(redis, queue_env, first)
    assert key == f"deemster:{queue_env}:cache:problems:detail:prob_a#v7"
    assert 0 < await redis.pttl(key) <= PROBLEM.kept_s * 1000
    assert await redis.get(key) == PREFIX + b"from the source"
    async with Cache.open(await url_of(redis), queue_env, timeout_s=TIMEOUT_S) as cache:
        entry = await cache.get(PROBLEM, "prob_a", second.load, version=7)
        assert (entry.body, second.loads) == (b"from the source", 0)
        await cache.get(PROBLEM, "prob_a", second.load, version=8)
        assert second.loads == 1


async def test_an_old_entry_in_redis_is_returned_and_refreshed(
    redis: Redis, queue_env: str
) -> None:
    """C2: its age in Redis counts, not the time since this process read it."""
    key = await share(redis, queue_env, Source(b"old"))
    await redis.pexpire(key, int((PROBLEM.kept_s - PROBLEM.fresh_s - 5) * 1000))
    newer = Source(b"new")
    async with Cache.open(await url_of(redis), queue_env, timeout_s=TIMEOUT_S) as cache:
        assert (await cache.get(PROBLEM, "prob_a", newer.load, version=7)).body == b"old"
        body: bytes | None = b"old"
        async with asyncio.timeout(PATIENCE_S):
            while body == b"old":
                body = (await cache.get(PROBLEM, "prob_a", newer.load, version=7)).body
                await asyncio.sleep(0)
    assert body == b"new"
    assert await redis.get(key) == PREFIX + b"new"
    assert newer.loads == 1


@pytest.mark.parametrize("value", [b"", b"\x80\x04garbage", b"deemster0:old form", b"{}"])
async def test_values_of_others_are_ignored(redis: Redis, queue_env: str, value: bytes) -> None:
    source = Source()
    key = await share(redis, queue_env, source)
    await redis.set(key, value, px=60_000)
    async with Cache.open(await url_of(redis), queue_env, timeout_s=TIMEOUT_S) as cache:
        entry = await cache.get(PROBLEM, "prob_a", source.load, version=7)
    assert (entry.body, source.loads) == (b"from the source", 2)


async def test_a_key_of_another_type_is_ignored(redis: Redis, queue_env: str) -> None:
    source = Source()
    key = await share(redis, queue_env, source)
    await redis.delete(key)
    await cast("Any", redis.rpush(key, b"x"))
    async with Cache.open(await url_of(redis), queue_env, timeout_s=TIMEOUT_S) as cache:
        entry = await cache.get(PROBLEM, "prob_a", source.load, version=7)
    assert entry.body == b"from the source"


async def test_private_and_local_entries_are_never_in_redis(
    redis: Redis, queue_env: str
) -> None:
    """C4."""
    source = Source()
    async with Cache.open(await url_of(redis), queue_env, timeout_s=TIMEOUT_S) as cache:
        await cache.get_private(STATUS, ADA, "sub_a", source.load, subject="sub_a")
        await cache.get_private(MY_SUBMISSIONS, ADA, "{}", source.load, subject=ADA.id)
        await cache.get(LANGUAGES, "cpp", source.load, version=0)
        # Not even if the type is ignored.
        with pytest.raises(AssertionError):
            await RedisCache(redis, queue_env).put(cast("Public", STATUS), "x", b"secret")
    assert await keys_of(redis, queue_env) == set()
    assert source.loads == 3


async def test_missing_values_are_not_shared(redis: Redis, queue_env: str) -> None:
    async def load() -> None:
        return None

    async with Cache.open(await url_of(redis), queue_env, timeout_s=TIMEOUT_S) as cache:
        assert (await cache.get(PROBLEM, "prob_x", load, version=1)).body is None
    assert await keys_of(redis, queue_env) == set()


async def test_very_large_values_are_not_shared(redis: Redis, queue_env: str) -> None:
    source = Source(b"x" * (redis_cache.MAX_BYTES + 1))
    async with Cache.open(await url_of(redis), queue_env, timeout_s=TIMEOUT_S) as cache:
        await cache.get(PROBLEM, "prob_x", source.load, version=1)
        await cache.get(PROBLEM, "prob_x", source.load, version=1)
    assert await keys_of(redis, queue_env) == set()
    assert source.loads == 1


async def test_without_redis_each_process_caches_alone(tmp_path: Path) -> None:
    """C1: Redis is down, then up, and used again."""
    clock = Clock()
    source = Source()
    async with OwnRedis(tmp_path) as own:
        client = Redis.from_url(own.url)
        await own.stop()
        async with Cache.open(own.url, "test", clock=clock, timeout_s=TIMEOUT_S) as cache:
            for _ in range(3):
                entry = await cache.get(PROBLEM, "prob_a", source.load, version=1)
                assert entry.body == b"from the source"
            assert source.loads == 1
            await own.start()
            clock.now_s += redis_cache.PAUSE_S
            await cache.get(PROBLEM, "prob_b", source.load, version=1)
        assert await client.get("deemster:test:cache:problems:detail:prob_b#v1")
        await client.aclose()


async def test_a_redis_that_hangs_is_not_asked_for_a_while(tmp_path: Path) -> None:
    """Of many misses, only one waits for a server that does not answer."""
    clock = Clock()
    async with OwnRedis(tmp_path) as own:
        redis = connect(own.url)
        faults: list[str] = []

        class Watched(RedisCache):
            def _pause(self, kind: Public, fault: Exception) -> None:
                faults.append(type(fault).__name__)
                super()._pause(kind, fault)

        async with asyncio.TaskGroup() as group:
            cache = Cache(group, Watched(redis, "test", clock=clock), clock=clock)
            source = Source()
            os.kill(own.pid, signal.SIGSTOP)
            try:
                for number in range(50):
                    await cache.get(PROBLEM, f"prob_{number}", source.load, version=1)
            finally:
                os.kill(own.pid, signal.SIGCONT)
        assert source.loads == 50
        assert len(faults) == 1
        await redis.aclose()
