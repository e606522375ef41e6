"""D2: token buckets, in memory and shared by Redis, decide the same."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis.asyncio import Redis

from deemster.cache.redis import MAX_CONNECTIONS
from deemster.limits.buckets import MOST_KNOWN, Buckets, Limit, MemoryBuckets, network_of
from deemster.limits.redis_buckets import open_buckets


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def limit(burst: int, *, key: str = "ada", name: str = "submit", per_s: float = 0.001) -> Limit:
    return Limit(name, key, per_s, burst)


@pytest.fixture(params=["own", "shared"])
async def buckets(
    request: pytest.FixtureRequest, redis_url: str, queue_env: str
) -> AsyncIterator[Buckets]:
    url = redis_url if request.param == "shared" else None
    async with open_buckets(url, queue_env) as opened:
        yield opened


async def test_d2_a_burst_is_let_in_and_then_no_more(buckets: Buckets) -> None:
    answers = [await buckets.take([limit(3)]) for _ in range(5)]
    assert [each.ok for each in answers] == [True, True, True, False, False]
    assert [each.left for each in answers] == [2, 1, 0, 0, 0]
    assert 900 < answers[-1].retry_after_s <= 1000


async def test_d2_each_key_has_its_own(buckets: Buckets) -> None:
    assert (await buckets.take([limit(1)])).ok
    assert not (await buckets.take([limit(1)])).ok
    assert (await buckets.take([limit(1, key="bob")])).ok
    assert (await buckets.take([limit(1, name="log-in")])).ok


async def test_d2_what_one_limit_refuses_costs_nothing_of_the_others(buckets: Buckets) -> None:
    wide, narrow = limit(5, name="wide"), limit(1, name="narrow")
    assert (await buckets.take([wide, narrow])).ok
    refused = await buckets.take([wide, narrow])
    assert not refused.ok
    assert refused.limit == narrow
    assert (await buckets.take([wide])).left == 3


async def test_looking_takes_nothing(buckets: Buckets) -> None:
    for _ in range(3):
        assert (await buckets.look([limit(1)])).ok
    assert (await buckets.take([limit(1)])).ok
    assert not (await buckets.look([limit(1)])).ok


async def test_d2_many_at_once_get_no_more_than_the_burst(buckets: Buckets) -> None:
    answers = await asyncio.gather(*(buckets.take([limit(7)]) for _ in range(40)))
    assert sum(each.ok for each in answers) == 7


async def test_d2_two_processes_share_one_bucket(redis_url: str, queue_env: str) -> None:
    async with (
        open_buckets(redis_url, queue_env) as first,
        open_buckets(redis_url, queue_env) as second,
    ):
        answers = [await each.take([limit(3)]) for each in (first, second) * 3]
    assert sum(each.ok for each in answers) == 3


async def test_d5_a_burst_makes_few_connections(redis_url: str, queue_env: str) -> None:
    """One for each request of a burst would be refused by Redis, and miss from its limits."""
    joint = "&" if "?" in redis_url else "?"
    named = f"{redis_url}{joint}client_name={queue_env}"
    async with open_buckets(named, queue_env) as buckets, Redis.from_url(redis_url) as redis:
        answers = await asyncio.gather(*(buckets.take([limit(7)]) for _ in range(300)))
        clients = await redis.client_list()
    assert sum(each.ok for each in answers) == 7
    mine = [each for each in clients if each["name"] == queue_env]
    assert 1 <= len(mine) <= MAX_CONNECTIONS


async def test_d5_with_redis_away_each_process_counts_by_itself(queue_env: str) -> None:
    async with open_buckets("redis://127.0.0.1:1/0", queue_env) as buckets:
        answers = [await buckets.take([limit(2)]) for _ in range(4)]
    assert [each.ok for each in answers] == [True, True, False, False]


@given(
    burst=st.integers(1, 20),
    per_s=st.floats(0.01, 100),
    pauses_s=st.lists(st.floats(0, 30), min_size=1, max_size=60),
)
def test_d2_never_more_than_the_burst_and_what_came_since(
    burst: int, per_s: float, pauses_s: list[float]
) -> None:
    clock = Clock()
    buckets = MemoryBuckets(clock)
    tried = Limit("submit", "ada", per_s, burst)
    let_in: list[float] = []
    for pause_s in pauses_s:
        clock.now_s += pause_s
        looked = buckets.look_now([tried])
        taken = buckets.take_now([tried])
        assert looked.ok == taken.ok
        if taken.ok:
            let_in.append(clock.now_s)
        else:
            # It says when, and then it is so.
            later = Clock()
            later.now_s = clock.now_s + taken.retry_after_s + 1e-6
            buckets._clock = later
            assert buckets.look_now([tried]).ok
            buckets._clock = clock
        for since_s in let_in:
            came = sum(at >= since_s for at in let_in)
            assert came <= burst + (clock.now_s - since_s) * per_s + 1e-3


def test_what_is_full_again_is_forgotten() -> None:
    clock = Clock()
    buckets = MemoryBuckets(clock)
    for number in range(MOST_KNOWN + 10):
        buckets.take_now([Limit("submit", str(number), 1.0, 5)])
    assert len(buckets._full_at) <= MOST_KNOWN
    clock.now_s += 10
    buckets._forget(clock.now_s)
    assert not buckets._full_at


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
def test_d2_an_address_stands_for_its_household(address: str | None, network: str) -> None:
    assert network_of(address) == network
