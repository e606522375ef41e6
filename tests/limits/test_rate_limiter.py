"""D2: rate limiters in memory and in Redis decide the same."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis.asyncio import Redis

from deemster.cache.redis import MAX_CONNECTIONS
from deemster.limits.rate_limiter import (
    Limit,
    MemoryRateLimiter,
    RateLimiter,
    network_of,
)
from deemster.limits.redis_rate_limiter import open_rate_limiter


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


TIMEOUT_S = 30.0
"""Redis answers within this time even on a busy machine."""


def limit(burst: int, *, key: str = "ada", name: str = "submit", per_s: float = 0.001) -> Limit:
    return Limit(name, key, per_s, burst)


@pytest.fixture(params=["own", "shared"])
async def limiter(
    request: pytest.FixtureRequest, redis_url: str, queue_env: str
) -> AsyncIterator[RateLimiter]:
    url = redis_url if request.param == "shared" else None
    async with open_rate_limiter(url, queue_env, timeout_s=TIMEOUT_S) as opened:
        yield opened


async def test_d2_a_burst_is_allowed_and_then_no_more(limiter: RateLimiter) -> None:
    answers = [await limiter.take([limit(3)]) for _ in range(5)]
    assert [each.ok for each in answers] == [True, True, True, False, False]
    assert [each.left for each in answers] == [2, 1, 0, 0, 0]
    assert 900 < answers[-1].retry_after_s <= 1000


async def test_d2_each_key_has_its_own_bucket(limiter: RateLimiter) -> None:
    assert (await limiter.take([limit(1)])).ok
    assert not (await limiter.take([limit(1)])).ok
    assert (await limiter.take([limit(1, key="bob")])).ok
    assert (await limiter.take([limit(1, name="log-in")])).ok


async def test_d2_a_refusal_by_one_limit_takes_no_token_of_the_others(
    limiter: RateLimiter,
) -> None:
    wide, narrow = limit(5, name="wide"), limit(1, name="narrow")
    assert (await limiter.take([wide, narrow])).ok
    refused = await limiter.take([wide, narrow])
    assert not refused.ok
    assert refused.limit == narrow
    assert (await limiter.take([wide])).left == 3


async def test_d2_tokens_that_are_given_back_can_be_taken_again(limiter: RateLimiter) -> None:
    for _ in range(3):
        assert (await limiter.take([limit(2), limit(2, key="bob")])).ok
        await limiter.give_back([limit(2), limit(2, key="bob")])
    assert [(await limiter.take([limit(2)])).ok for _ in range(3)] == [True, True, False]


async def test_peek_takes_nothing(limiter: RateLimiter) -> None:
    for _ in range(3):
        assert (await limiter.peek([limit(1)])).ok
    assert (await limiter.take([limit(1)])).ok
    assert not (await limiter.peek([limit(1)])).ok


async def test_d2_many_at_once_get_no_more_than_the_burst(limiter: RateLimiter) -> None:
    answers = await asyncio.gather(*(limiter.take([limit(7)]) for _ in range(40)))
    assert sum(each.ok for each in answers) == 7


async def test_d2_two_processes_share_one_bucket(redis_url: str, queue_env: str) -> None:
    async with (
        open_rate_limiter(redis_url, queue_env, timeout_s=TIMEOUT_S) as first,
        open_rate_limiter(redis_url, queue_env, timeout_s=TIMEOUT_S) as second,
    ):
        answers = [await each.take([limit(3)]) for each in (first, second) * 3]
    assert sum(each.ok for each in answers) == 3


async def test_d5_a_burst_makes_few_connections(redis_url: str, queue_env: str) -> None:
    """Redis would refuse a connection for each request, and these would not be counted."""
    joint = "&" if "?" in redis_url else "?"
    named = f"{redis_url}{joint}client_name={queue_env}"
    async with (
        open_rate_limiter(named, queue_env, timeout_s=TIMEOUT_S) as limiter,
        Redis.from_url(redis_url) as redis,
    ):
        answers = await asyncio.gather(*(limiter.take([limit(7)]) for _ in range(300)))
        clients = await redis.client_list()
    assert sum(each.ok for each in answers) == 7
    mine = [each for each in clients if each["name"] == queue_env]
    assert 1 <= len(mine) <= MAX_CONNECTIONS


async def test_d5_without_redis_each_process_counts_alone(queue_env: str) -> None:
    async with open_rate_limiter("redis://127.0.0.1:1/0", queue_env) as limiter:
        answers = [await limiter.take([limit(2)]) for _ in range(4)]
    assert [each.ok for each in answers] == [True, True, False, False]


@given(
    burst=st.integers(1, 20),
    per_s=st.floats(0.01, 100),
    pauses_s=st.lists(st.floats(0, 30), min_size=1, max_size=60),
)
def test_d2_never_more_than_the_burst_and_the_tokens_since(
    burst: int, per_s: float, pauses_s: list[float]
) -> None:
    clock = Clock()
    limiter = MemoryRateLimiter(clock)
    tested = Limit("submit", "ada", per_s, burst)
    allowed: list[float] = []
    for pause_s in pauses_s:
        clock.now_s += pause_s
        peeked = limiter.peek_now([tested])
        taken = limiter.take_now([tested])
        assert peeked.ok == taken.ok
        if taken.ok:
            allowed.append(clock.now_s)
        else:
            # After the time that it names, the same limit allows it.
            later = Clock()
            later.now_s = clock.now_s + taken.retry_after_s + 1e-6
            limiter._clock = later
            assert limiter.peek_now([tested]).ok
            limiter._clock = clock
        for since_s in allowed:
            came = sum(at >= since_s for at in allowed)
            assert came <= burst + (clock.now_s - since_s) * per_s + 1e-3


def test_full_buckets_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deemster.limits.rate_limiter.MAX_BUCKETS", 1000)
    clock = Clock()
    limiter = MemoryRateLimiter(clock)
    for number in range(1010):
        limiter.take_now([Limit("submit", str(number), 1.0, 5)])
    assert len(limiter._full_at) <= 1000
    clock.now_s += 10
    limiter._drop_full(clock.now_s)
    assert not limiter._full_at


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("fe80::1%eth0", "fe80::/64"),
        (None, "?"),
        ("testclient", "testclient"),
    ],
)
def test_d2_an_ipv6_address_counts_as_its_network(address: str | None, network: str) -> None:
    assert network_of(address) == network
