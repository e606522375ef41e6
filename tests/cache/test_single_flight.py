"""The single-flight cache runs one look-up for many callers and keeps the result."""

import asyncio

import pytest

from deemster.cache.single_flight import SingleFlightCache


class Source:
    """Counts its calls, and answers once `may_answer` is set."""

    def __init__(self) -> None:
        self.calls = 0
        self.may_answer = asyncio.Event()

    async def look_up(self, key: str) -> str:
        self.calls += 1
        await self.may_answer.wait()
        return f"{key}{self.calls}"


async def until_waiting(task: asyncio.Task[str]) -> None:
    while not task.done() and task.get_coro() is not None:
        await asyncio.sleep(0)
        if task.get_stack():
            return


async def test_callers_at_the_same_time_share_one_look_up() -> None:
    source = Source()
    cache = SingleFlightCache(source.look_up, keep_s=60)
    source.may_answer.set()
    answers = await asyncio.gather(*[cache.get("a") for _ in range(10)])
    assert (set(answers), source.calls) == ({"a1"}, 1)
    assert await cache.get("a") == "a1"


async def test_an_old_or_forgotten_value_is_looked_up_again() -> None:
    source = Source()
    source.may_answer.set()
    short = SingleFlightCache(source.look_up, keep_s=0)
    assert [await short.get("a"), await short.get("a")] == ["a1", "a2"]
    long = SingleFlightCache(source.look_up, keep_s=60)
    assert await long.get("a") == "a3"
    long.forget("a")
    assert await long.get("a") == "a4"


async def test_waiting_callers_get_an_answer_if_the_first_is_cancelled() -> None:
    source = Source()
    cache = SingleFlightCache(source.look_up, keep_s=60)
    async with asyncio.TaskGroup() as group:
        first = group.create_task(cache.get("a"))
        await until_waiting(first)
        second = group.create_task(cache.get("a"))
        await until_waiting(second)
        first.cancel()
        source.may_answer.set()
    assert second.result() == "a2"


async def test_an_error_goes_to_all_waiting_callers_and_is_not_kept() -> None:
    tries = 0

    async def fail_once(_: str) -> str:
        nonlocal tries
        tries += 1
        await asyncio.sleep(0)
        if tries == 1:
            raise ValueError("no")
        return "yes"

    cache = SingleFlightCache(fail_once, keep_s=60)
    outcomes = await asyncio.gather(*[cache.get("a") for _ in range(3)], return_exceptions=True)
    assert [type(each) for each in outcomes] == [ValueError] * 3
    assert await cache.get("a") == "yes"


async def test_the_number_of_values_is_bounded() -> None:
    source = Source()
    source.may_answer.set()
    cache = SingleFlightCache(source.look_up, keep_s=60, max_entries=2)
    for key in "abc":
        await cache.get(key)
    assert await cache.get("c") == "c3"
    assert await cache.get("a") == "a4"


@pytest.mark.parametrize("keys", [1, 5])
async def test_each_key_is_looked_up(keys: int) -> None:
    source = Source()
    source.may_answer.set()
    cache = SingleFlightCache(source.look_up, keep_s=60)
    answers = [await cache.get(str(key)) for key in range(keys)]
    assert len(set(answers)) == source.calls == keys


async def test_a_look_up_that_started_before_forget_is_not_kept() -> None:
    source = Source()
    cache = SingleFlightCache(source.look_up, keep_s=60)
    async with asyncio.TaskGroup() as group:
        before = group.create_task(cache.get("a"))
        await until_waiting(before)
        cache.forget("a")
        after = group.create_task(cache.get("a"))
        await until_waiting(after)
        source.may_answer.set()
    assert source.calls == 2
    assert after.result() == await cache.get("a")
