"""C1, C2, C4: answers are remembered, looked up once, renewed in time, and kept apart."""

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
from tests.waiting import until

ADA = Account(AccountId("usr_ada"), "ada", Role.USER)
BOB = Account(AccountId("usr_bob"), "bob", Role.USER)


class Clock:
    """Time that passes when told to."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@dataclass
class Source:
    """Counts how often it is looked at; answers when it may, as it is told to."""

    asked: int = 0
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)
    fault: Exception | None = None
    is_absent: bool = False
    keep_s: float | None = None

    def __post_init__(self) -> None:
        self.may_answer.set()

    async def look(self) -> Loaded | None:
        self.asked += 1
        number = self.asked
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


async def problem(cache: Cache, source: Source, revision: int = 1) -> bytes | None:
    return (await cache.get(PROBLEM, "prob_a", source.look, version=revision)).body


async def status(cache: Cache, source: Source, viewer: Account = ADA) -> bytes | None:
    entry = await cache.get_private(STATUS, viewer, "sub_a", source.look, subject="sub_a")
    return entry.body


def counted(outcome: str) -> float:
    return float(CACHE.labels(PROBLEM.name, outcome)._value.get())


async def test_an_answer_is_told_again_and_a_new_revision_is_looked_up(
    cache: Cache, source: Source
) -> None:
    """C1."""
    assert [await problem(cache, source) for _ in range(3)] == [b"1"] * 3
    assert await problem(cache, source, revision=2) == b"2"
    assert source.asked == 2


async def test_of_many_who_ask_at_once_one_looks(cache: Cache, source: Source) -> None:
    """C2."""
    answers = await asyncio.gather(*[problem(cache, source) for _ in range(50)])
    assert (set(answers), source.asked) == ({b"1"}, 1)


async def test_who_asked_first_may_go_away(cache: Cache, source: Source) -> None:
    """C2: the look goes on for those who stay, and is not done twice."""
    source.may_answer.clear()
    async with asyncio.TaskGroup() as group:
        first = group.create_task(problem(cache, source))
        others = [group.create_task(problem(cache, source)) for _ in range(3)]
        await until(lambda: source.asked == 1)
        first.cancel()
        await until(first.done)
        source.may_answer.set()
    assert first.cancelled()
    assert [each.result() for each in others] == [b"1"] * 3
    assert source.asked == 1


async def test_when_all_have_gone_the_answer_is_there_for_the_next(
    cache: Cache, source: Source
) -> None:
    source.may_answer.clear()
    async with asyncio.TaskGroup() as group:
        only = group.create_task(problem(cache, source))
        await until(lambda: source.asked == 1)
        only.cancel()
    source.may_answer.set()
    assert await problem(cache, source) == b"1"
    assert source.asked == 1


async def test_what_is_stale_is_told_once_more_while_it_is_renewed(
    cache: Cache, source: Source, clock: Clock
) -> None:
    """C2: nobody waits for it, and one renews it."""
    assert await problem(cache, source) == b"1"
    clock.now_s += PROBLEM.fresh_s + 1
    source.may_answer.clear()
    assert [await problem(cache, source) for _ in range(5)] == [b"1"] * 5
    await until(lambda: source.asked == 2)
    source.may_answer.set()
    told = [b"1"]
    async with asyncio.timeout(30):
        while told[-1] == b"1":
            told.append(await problem(cache, source) or b"")
            await asyncio.sleep(0)
    assert (told[-1], source.asked) == (b"2", 2)


async def test_after_its_time_it_is_not_told_any_more(
    cache: Cache, source: Source, clock: Clock
) -> None:
    """C3."""
    assert await problem(cache, source) == b"1"
    clock.now_s += PROBLEM.kept_s
    assert await problem(cache, source) == b"2"


async def test_when_it_can_not_be_renewed_the_old_one_holds(
    cache: Cache, source: Source, clock: Clock
) -> None:
    assert await problem(cache, source) == b"1"
    clock.now_s += PROBLEM.fresh_s + 1
    source.fault = Unavailable("away")
    assert await problem(cache, source) == b"1"
    await until(lambda: source.asked == 2)
    for _ in range(20):
        assert await problem(cache, source) == b"1"
        await asyncio.sleep(0)
    assert source.asked == 2, "a source in need is not hurried"
    source.fault = None
    clock.now_s += 2
    assert await problem(cache, source) == b"1"
    await until(lambda: source.asked == 3)


async def test_a_fault_is_told_to_all_who_wait_and_not_remembered(
    cache: Cache, source: Source
) -> None:
    source.fault = Unavailable("away")
    told = await asyncio.gather(
        *[problem(cache, source) for _ in range(3)], return_exceptions=True
    )
    assert [type(each) for each in told] == [Unavailable] * 3
    source.fault = None
    assert await problem(cache, source) == b"2"


async def test_that_there_is_nothing_is_remembered_for_a_moment(
    cache: Cache, source: Source, clock: Clock
) -> None:
    """C2."""
    source.is_absent = True
    assert [await problem(cache, source) for _ in range(3)] == [None] * 3
    assert source.asked == 1
    source.is_absent = False
    clock.now_s += PROBLEM.absent_s
    assert await problem(cache, source) == b"2"


async def test_an_answer_may_be_kept_for_less_or_not_at_all(
    cache: Cache, source: Source, clock: Clock
) -> None:
    source.keep_s = 1
    assert [await problem(cache, source) for _ in range(2)] == [b"1"] * 2
    clock.now_s += 1
    source.keep_s = 0
    assert [await problem(cache, source) for _ in range(2)] == [b"2", b"3"]


async def test_each_sees_their_own_in_the_role_that_they_have(
    cache: Cache, source: Source
) -> None:
    """C4."""
    admin = replace(BOB, role=Role.ADMIN)
    viewers = [ADA, BOB, admin]
    assert [await status(cache, source, each) for each in viewers] == [b"1", b"2", b"3"]
    assert [await status(cache, source, each) for each in viewers] == [b"1", b"2", b"3"]


async def test_a_change_is_seen_by_all_also_by_who_looked_before_it(
    cache: Cache, source: Source
) -> None:
    """C1: what was read before the change does not come after it."""
    source.may_answer.clear()
    async with asyncio.TaskGroup() as group:
        early = group.create_task(status(cache, source))
        await until(lambda: source.asked == 1)
        cache.versions.bump("sub_a")
        late = group.create_task(status(cache, source))
        await until(lambda: source.asked == 2)
        source.may_answer.set()
    assert (early.result(), late.result()) == (b"1", b"2")
    assert await status(cache, source) == b"2"
    assert await status(cache, source, BOB) == b"3"
    cache.versions.bump("sub_b")
    assert await status(cache, source) == b"2"
    cache.versions.bump_all()
    assert await status(cache, source) == b"4"


async def test_a_selector_can_not_pretend_to_be_another(cache: Cache) -> None:
    """Whatever clients put into it."""
    answers = []
    for selector, revision in [("a", 1), ("a#v1", 1), ("a#v1#v1", 1), ("a", 11), ("a#v1", 11)]:
        found = Loaded(f"{selector} {revision}".encode())

        async def look(found: Loaded = found) -> Loaded:
            return found

        answers.append((await cache.get(PROBLEM, selector, look, version=revision)).body)
    assert len(set(answers)) == 5


async def test_memory_is_bounded_and_keeps_what_was_used_last(clock: Clock) -> None:
    async with asyncio.TaskGroup() as group:
        cache = Cache(group, None, clock=clock, max_bytes=10_000)
        looked: list[str] = []

        async def get(name: str) -> None:
            async def look() -> Loaded:
                looked.append(name)
                return Loaded(b"x" * 1000)

            await cache.get(PROBLEM, name, look, version=1)

        for number in range(100):
            await get(str(number))
            await get("used all the time")
            assert cache.memory.currsize <= 10_000
        assert looked.count("used all the time") == 1
        await get("99")
        assert len(looked) == 101
        await get("1")
        assert len(looked) == 102


async def test_how_it_went_is_counted(cache: Cache, source: Source, clock: Clock) -> None:
    before = {name: counted(name) for name in ("hit", "stale", "miss", "joined", "negative")}
    await asyncio.gather(*[problem(cache, source) for _ in range(3)])
    await problem(cache, source)
    clock.now_s += PROBLEM.fresh_s
    await problem(cache, source)
    absent = Source(is_absent=True)
    for _ in range(2):
        await cache.get(PROBLEM, "prob_none", absent.look, version=1)
    grown = {name: counted(name) - count for name, count in before.items()}
    assert grown == {"hit": 1, "stale": 1, "miss": 2, "joined": 2, "negative": 1}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_each_kind_says_how_long_it_holds(kind: Any) -> None:
    """C1, C3: and its keys begin with a namespace and an entity."""
    assert 0 < kind.fresh_s <= kind.kept_s
    assert kind.name.count(":") == 1
    assert isinstance(kind, Public | Private)
    assert not (isinstance(kind, Private) and isinstance(kind, Local))
