"""C1, C4: what lies in Redis, and what happens when Redis does not."""

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

PATIENT_S = 30.0
"""Where Redis does answer, however busy the machine is."""
ADA = Account(AccountId("usr_ada"), "ada", Role.USER)


class Clock:
    def __init__(self) -> None:
        self.now_s = time.monotonic()

    def __call__(self) -> float:
        return self.now_s


class Source:
    def __init__(self, body: bytes = b"from the source") -> None:
        self.asked = 0
        self.body = body

    async def look(self) -> Loaded | None:
        self.asked += 1
        return Loaded(self.body)


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    client = Redis.from_url(redis_url)
    yield client
    await client.aclose()


async def keys_of(redis: Redis, env: str) -> set[str]:
    return {key.decode() async for key in redis.scan_iter(match=f"deemster:{env}:*")}


async def put_there(redis: Redis, env: str, source: Source, revision: int = 7) -> str:
    """By one process, to be found by others."""
    async with Cache.open(await url_of(redis), env, timeout_s=PATIENT_S) as cache:
        await cache.get(PROBLEM, "prob_a", source.look, version=revision)
    (key,) = await keys_of(redis, env)
    return key


async def url_of(redis: Redis) -> str:
    known = redis.connection_pool.connection_kwargs
    return f"redis://{known['host']}:{known['port']}/{known.get('db') or 0}"


async def test_what_one_process_looked_up_others_find(redis: Redis, queue_env: str) -> None:
    """C1: under a key that says what it is, for as long as its kind says."""
    first, second = Source(), Source()
    key = await put_there(redis, queue_env, first)
    assert key == f"deemster:{queue_env}:cache:problems:detail:prob_a#v7"
    assert 0 < await redis.pttl(key) <= PROBLEM.kept_s * 1000
    assert await redis.get(key) == PREFIX + b"from the source"
    async with Cache.open(await url_of(redis), queue_env, timeout_s=PATIENT_S) as cache:
        entry = await cache.get(PROBLEM, "prob_a", second.look, version=7)
        assert (entry.body, second.asked) == (b"from the source", 0)
        await cache.get(PROBLEM, "prob_a", second.look, version=8)
        assert second.asked == 1


async def test_what_lies_there_for_long_is_told_and_renewed(
    redis: Redis, queue_env: str
) -> None:
    """C2: by its age there, not by when this process saw it first."""
    key = await put_there(redis, queue_env, Source(b"old"))
    await redis.pexpire(key, int((PROBLEM.kept_s - PROBLEM.fresh_s - 5) * 1000))
    newer = Source(b"new")
    async with Cache.open(await url_of(redis), queue_env, timeout_s=PATIENT_S) as cache:
        assert (await cache.get(PROBLEM, "prob_a", newer.look, version=7)).body == b"old"
        body: bytes | None = b"old"
        async with asyncio.timeout(30):
            while body == b"old":
                body = (await cache.get(PROBLEM, "prob_a", newer.look, version=7)).body
                await asyncio.sleep(0)
    assert body == b"new"
    assert await redis.get(key) == PREFIX + b"new"
    assert newer.asked == 1


@pytest.mark.parametrize("value", [b"", b"\x80\x04garbage", b"deemster0:old form", b"{}"])
async def test_what_is_not_ours_is_not_told(redis: Redis, queue_env: str, value: bytes) -> None:
    source = Source()
    key = await put_there(redis, queue_env, source)
    await redis.set(key, value, px=60_000)
    async with Cache.open(await url_of(redis), queue_env, timeout_s=PATIENT_S) as cache:
        entry = await cache.get(PROBLEM, "prob_a", source.look, version=7)
    assert (entry.body, source.asked) == (b"from the source", 2)


async def test_a_key_of_another_type_does_no_harm(redis: Redis, queue_env: str) -> None:
    source = Source()
    key = await put_there(redis, queue_env, source)
    await redis.delete(key)
    await cast("Any", redis.rpush(key, b"x"))
    async with Cache.open(await url_of(redis), queue_env, timeout_s=PATIENT_S) as cache:
        entry = await cache.get(PROBLEM, "prob_a", source.look, version=7)
    assert entry.body == b"from the source"


async def test_what_is_private_or_local_never_gets_there(redis: Redis, queue_env: str) -> None:
    """C4."""
    source = Source()
    async with Cache.open(await url_of(redis), queue_env, timeout_s=PATIENT_S) as cache:
        await cache.get_private(STATUS, ADA, "sub_a", source.look, subject="sub_a")
        await cache.get_private(MY_SUBMISSIONS, ADA, "{}", source.look, subject=ADA.id)
        await cache.get(LANGUAGES, "cpp", source.look, version=0)
        # Not even by someone who forgot which is which.
        with pytest.raises(AssertionError):
            await RedisCache(redis, queue_env).put(cast("Public", STATUS), "x", b"secret")
    assert await keys_of(redis, queue_env) == set()
    assert source.asked == 3


async def test_that_there_is_nothing_is_not_told_others(redis: Redis, queue_env: str) -> None:
    async def look() -> None:
        return None

    async with Cache.open(await url_of(redis), queue_env, timeout_s=PATIENT_S) as cache:
        assert (await cache.get(PROBLEM, "prob_x", look, version=1)).body is None
    assert await keys_of(redis, queue_env) == set()


async def test_very_large_answers_stay_at_home(redis: Redis, queue_env: str) -> None:
    source = Source(b"x" * (redis_cache.MAX_BYTES + 1))
    async with Cache.open(await url_of(redis), queue_env, timeout_s=PATIENT_S) as cache:
        await cache.get(PROBLEM, "prob_x", source.look, version=1)
        await cache.get(PROBLEM, "prob_x", source.look, version=1)
    assert await keys_of(redis, queue_env) == set()
    assert source.asked == 1


async def test_without_redis_everyone_remembers_by_themselves(tmp_path: Path) -> None:
    """C1: dead, then back, and used again."""
    clock = Clock()
    source = Source()
    async with OwnRedis(tmp_path) as own:
        client = Redis.from_url(own.url)
        await own.stop()
        async with Cache.open(own.url, "test", clock=clock, timeout_s=PATIENT_S) as cache:
            for _ in range(3):
                entry = await cache.get(PROBLEM, "prob_a", source.look, version=1)
                assert entry.body == b"from the source"
            assert source.asked == 1
            await own.start()
            clock.now_s += redis_cache.PAUSE_S
            await cache.get(PROBLEM, "prob_b", source.look, version=1)
        assert await client.get("deemster:test:cache:problems:detail:prob_b#v1")
        await client.aclose()


async def test_a_redis_that_hangs_is_asked_once_and_then_left_alone(tmp_path: Path) -> None:
    """Of many who miss, none waits for a server that does not answer twice."""
    clock = Clock()
    async with OwnRedis(tmp_path) as own:
        redis = connect(own.url)
        told: list[str] = []

        class Watched(RedisCache):
            def _pause(self, kind: Public, fault: Exception) -> None:
                told.append(type(fault).__name__)
                super()._pause(kind, fault)

        async with asyncio.TaskGroup() as group:
            cache = Cache(group, Watched(redis, "test", clock=clock), clock=clock)
            source = Source()
            os.kill(own.pid, signal.SIGSTOP)
            try:
                for number in range(50):
                    await cache.get(PROBLEM, f"prob_{number}", source.look, version=1)
            finally:
                os.kill(own.pid, signal.SIGCONT)
        assert source.asked == 50
        assert len(told) == 1
        await redis.aclose()
