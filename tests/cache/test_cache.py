"""C1, C2, C4: responses are cached, loaded once, refreshed in time, and kept per account."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from deemster.cache.cache import Cache, Loaded
from deemster.cache.kinds import KINDS, PROBLEM, STATUS, Local, Private, Public
from deemster.domain.account import Account, Role
from deemster.domain.errors import Unavailable
from deemster.domain.ids import AccountId
from deemster.metrics import CACHE
from tests.waiting import PATIENCE_S, until

ADA = Account(AccountId("usr_ada"), "ada", Role.USER)
BOB = Account(AccountId("usr_bob"), "bob", Role.USER)


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@dataclass
class Source:
    """Counts its loads, and answers as configured once `may_answer` is set."""

    loads: int = 0
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)
    fault: Exception | None = None
    is_absent: bool = False
    keep_s: float | None = None

    def __post_init__(self) -> None:
        self.may_answer.set()

    async def load(self) -> Loaded | None:
        self.loads += 1
        number = self.loads
        await self.may_answer.wait()
        if self.fault is not None:
            raise self.fault
        return None if self.is_absent else Loaded(b"%d" % number, self.keep_s)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def cache(clock: Clock) -> AsyncIterator[Cache]:
    async with Cache.open(None, "test", clock=clock) as opened:
        yield opened


@pytest.fixture
def source() -> Source:
    return Source()


async def problem(cache: Cache, source: Source, version: int = 1) -> bytes | None:
    return (await cache.get(PROBLEM, "prob_a", source.load, version=version)).body


async def status(cache: Cache, source: Source, viewer: Account = ADA) -> bytes | None:
    entry = await cache.get_private(STATUS, viewer, "sub_a", source.load, subject="sub_a")
    return entry.body


def counted(outcome: str) -> float:
    return float(CACHE.labels(PROBLEM.name, outcome)._value.get())


async def test_an_entry_is_returned_again_and_a_new_version_is_loaded(
    cache: Cache, source: Source
) -> None:
    """C1."""
    assert [await problem(cache, source) for _ in range(3)] == [b"1"] * 3
    assert await problem(cache, source, version=2) == b"2"
    assert source.loads == 2


async def test_callers_at_the_same_time_share_one_load(cache: Cache, source: Source) -> None:
    """C2."""
    answers = await asyncio.gather(*[problem(cache, source) for _ in range(50)])
    assert (set(answers), source.loads) == ({b"1"}, 1)


async def test_the_first_caller_may_be_cancelled(cache: Cache, source: Source) -> None:
    """C2: the load goes on for the others, and is not repeated."""
    source.may_answer.clear()
    async with asyncio.TaskGroup() as group:
        first = group.create_task(problem(cache, source))
        others = [group.create_task(problem(cache, source)) for _ in range(3)]
        await until(lambda: source.loads == 1)
        first.cancel()
        await until(first.done)
        source.may_answer.set()
    assert first.cancelled()
    assert [each.result() for each in others] == [b"1"] * 3
    assert source.loads == 1


async def test_a_load_goes_on_when_all_callers_are_cancelled(
    cache: Cache, source: Source
) -> None:
    source.may_answer.clear()
    async with asyncio.TaskGroup() as group:
        only = group.create_task(problem(cache, source))
        await until(lambda: source.loads == 1)
        only.cancel()
    source.may_answer.set()
    assert await problem(cache, source) == b"1"
    assert source.loads == 1


async def test_a_stale_entry_is_returned_while_it_is_refreshed(
    cache: Cache, source: Source, clock: Clock
) -> None:
    """C2: no caller waits, and one load refreshes it."""
    assert await problem(cache, source) == b"1"
    clock.now_s += PROBLEM.fresh_s + 1
    source.may_answer.clear()
    assert [await problem(cache, source) for _ in range(5)] == [b"1"] * 5
    await until(lambda: source.loads == 2)
    source.may_answer.set()
    bodies = [b"1"]
    async with asyncio.timeout(PATIENCE_S):
        while bodies[-1] == b"1":
            bodies.append(await problem(cache, source) or b"")
            await asyncio.sleep(0)
    assert (bodies[-1], source.loads) == (b"2", 2)


async def test_an_expired_entry_is_not_returned(
    cache: Cache, source: Source, clock: Clock
) -> None:
    """C3."""
    assert await problem(cache, source) == b"1"
    clock.now_s += PROBLEM.kept_s
    assert await problem(cache, source) == b"2"


async def test_a_stale_entry_stays_while_its_refresh_fails(
    cache: Cache, source: Source, clock: Clock
) -> None:
    assert await problem(cache, source) == b"1"
    clock.now_s += PROBLEM.fresh_s + 1
    source.fault = Unavailable("away")
    assert await problem(cache, source) == b"1"
    await until(lambda: source.loads == 2)
    for _ in range(20):
        assert await problem(cache, source) == b"1"
        await asyncio.sleep(0)
    assert source.loads == 2, "a failing source is not asked again at once"
    source.fault = None
    clock.now_s += 2
    assert await problem(cache, source) == b"1"
    await until(lambda: source.loads == 3)


async def test_an_error_goes_to_all_waiting_callers_and_is_not_cached(
    cache: Cache, source: Source
) -> None:
    source.fault = Unavailable("away")
    results = await asyncio.gather(
        *[problem(cache, source) for _ in range(3)], return_exceptions=True
    )
    assert [type(each) for each in results] == [Unavailable] * 3
    source.fault = None
    assert await problem(cache, source) == b"2"


async def test_a_missing_value_is_cached_for_a_short_time(
    cache: Cache, source: Source, clock: Clock
) -> None:
    """C2."""
    source.is_absent = True
    assert [await problem(cache, source) for _ in range(3)] == [None] * 3
    assert source.loads == 1
    source.is_absent = False
    clock.now_s += PROBLEM.absent_s
    assert await problem(cache, source) == b"2"


async def test_a_value_may_be_kept_shorter_or_not_at_all(
    cache: Cache, source: Source, clock: Clock
) -> None:
    source.keep_s = 1
    assert [await problem(cache, source) for _ in range(2)] == [b"1"] * 2
    clock.now_s += 1
    source.keep_s = 0
    assert [await problem(cache, source) for _ in range(2)] == [b"2", b"3"]


async def test_entries_are_private_per_account_and_role(cache: Cache, source: Source) -> None:
    """C4."""
    admin = replace(BOB, role=Role.ADMIN)
    viewers = [ADA, BOB, admin]
    assert [await status(cache, source, each) for each in viewers] == [b"1", b"2", b"3"]
    assert [await status(cache, source, each) for each in viewers] == [b"1", b"2", b"3"]


async def test_a_change_is_seen_by_all_even_during_a_load(cache: Cache, source: Source) -> None:
    """C1: a value read before the change is not returned after it."""
    source.may_answer.clear()
    async with asyncio.TaskGroup() as group:
        early = group.create_task(status(cache, source))
        await until(lambda: source.loads == 1)
        cache.versions.bump("sub_a")
        late = group.create_task(status(cache, source))
        await until(lambda: source.loads == 2)
        source.may_answer.set()
    assert (early.result(), late.result()) == (b"1", b"2")
    assert await status(cache, source) == b"2"
    assert await status(cache, source, BOB) == b"3"
    cache.versions.bump("sub_b")
    assert await status(cache, source) == b"2"
    cache.versions.bump_all()
    assert await status(cache, source) == b"4"


async def test_selectors_of_clients_can_not_collide(cache: Cache) -> None:
    answers = []
    for selector, version in [("a", 1), ("a#v1", 1), ("a#v1#v1", 1), ("a", 11), ("a#v1", 11)]:
        found = Loaded(f"{selector} {version}".encode())

        async def load(found: Loaded = found) -> Loaded:
            return found

        answers.append((await cache.get(PROBLEM, selector, load, version=version)).body)
    assert len(set(answers)) == 5


async def test_memory_is_bounded_and_keeps_recently_used_entries(clock: Clock) -> None:
    async with asyncio.TaskGroup() as group:
        cache = Cache(group, None, clock=clock, max_bytes=10_000)
        loaded: list[str] = []

        async def get(name: str) -> None:
            async def load() -> Loaded:
                loaded.append(name)
                return Loaded(b"x" * 1000)

            await cache.get(PROBLEM, name, load, version=1)

        for number in range(100):
            await get(str(number))
            await get("used all the time")
            assert cache.memory.currsize <= 10_000
        assert loaded.count("used all the time") == 1
        await get("99")
        assert len(loaded) == 101
        await get("1")
        assert len(loaded) == 102


async def test_hits_and_misses_are_counted(cache: Cache, source: Source, clock: Clock) -> None:
    before = {name: counted(name) for name in ("hit", "stale", "miss", "joined", "negative")}
    await asyncio.gather(*[problem(cache, source) for _ in range(3)])
    await problem(cache, source)
    clock.now_s += PROBLEM.fresh_s
    await problem(cache, source)
    absent = Source(is_absent=True)
    for _ in range(2):
        await cache.get(PROBLEM, "prob_none", absent.load, version=1)
    grown = {name: counted(name) - count for name, count in before.items()}
    assert grown == {"hit": 1, "stale": 1, "miss": 2, "joined": 2, "negative": 1}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_each_kind_has_lifetimes(kind: Any) -> None:
    """C1, C3: and its keys start with a namespace and an entity."""
    assert 0 < kind.fresh_s <= kind.kept_s
    assert kind.name.count(":") == 1
    assert isinstance(kind, Public | Private)
    assert not (isinstance(kind, Private) and isinstance(kind, Local))
