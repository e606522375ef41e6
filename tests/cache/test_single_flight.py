"""Answers that are remembered for a moment."""

import asyncio

import pytest

from deemster.cache.single_flight import SingleFlightCache


class Source:
    """Counts how often it is asked, and answers when it may."""

    def __init__(self) -> None:
        self.asked = 0
        self.may_answer = asyncio.Event()

    async def look(self, key: str) -> str:
        self.asked += 1
        await self.may_answer.wait()
        return f"{key}{self.asked}"


async def until_waiting(task: asyncio.Task[str]) -> None:
    while not task.done() and task.get_coro() is not None:
        await asyncio.sleep(0)
        if task.get_stack():
            return


async def test_of_many_who_ask_at_once_one_looks() -> None:
    source = Source()
    moment = SingleFlightCache(source.look, keep_s=60)
    source.may_answer.set()
    answers = await asyncio.gather(*[moment.get("a") for _ in range(10)])
    assert (set(answers), source.asked) == ({"a1"}, 1)
    assert await moment.get("a") == "a1"


async def test_what_is_old_or_forgotten_is_looked_up_again() -> None:
    source = Source()
    source.may_answer.set()
    brief = SingleFlightCache(source.look, keep_s=0)
    assert [await brief.get("a"), await brief.get("a")] == ["a1", "a2"]
    long = SingleFlightCache(source.look, keep_s=60)
    assert await long.get("a") == "a3"
    long.forget("a")
    assert await long.get("a") == "a4"


async def test_those_who_stay_get_an_answer_when_who_asked_goes_away() -> None:
    source = Source()
    moment = SingleFlightCache(source.look, keep_s=60)
    async with asyncio.TaskGroup() as group:
        first = group.create_task(moment.get("a"))
        await until_waiting(first)
        second = group.create_task(moment.get("a"))
        await until_waiting(second)
        first.cancel()
        source.may_answer.set()
    assert second.result() == "a2"


async def test_a_failure_is_told_to_all_who_wait_and_not_kept() -> None:
    tries = 0

    async def fail_once(_: str) -> str:
        nonlocal tries
        tries += 1
        await asyncio.sleep(0)
        if tries == 1:
            raise ValueError("no")
        return "yes"

    moment = SingleFlightCache(fail_once, keep_s=60)
    outcomes = await asyncio.gather(
        *[moment.get("a") for _ in range(3)], return_exceptions=True
    )
    assert [type(each) for each in outcomes] == [ValueError] * 3
    assert await moment.get("a") == "yes"


async def test_it_keeps_no_more_than_it_may() -> None:
    source = Source()
    source.may_answer.set()
    moment = SingleFlightCache(source.look, keep_s=60, max_entries=2)
    for key in "abc":
        await moment.get(key)
    assert await moment.get("c") == "c3"
    assert await moment.get("a") == "a4"


@pytest.mark.parametrize("keys", [1, 5])
async def test_keys_are_apart(keys: int) -> None:
    source = Source()
    source.may_answer.set()
    moment = SingleFlightCache(source.look, keep_s=60)
    answers = [await moment.get(str(key)) for key in range(keys)]
    assert len(set(answers)) == source.asked == keys


async def test_what_was_looked_up_before_it_was_forgotten_is_not_remembered() -> None:
    source = Source()
    moment = SingleFlightCache(source.look, keep_s=60)
    async with asyncio.TaskGroup() as group:
        early = group.create_task(moment.get("a"))
        await until_waiting(early)
        moment.forget("a")
        late = group.create_task(moment.get("a"))
        await until_waiting(late)
        source.may_answer.set()
    assert source.asked == 2
    assert late.result() == await moment.get("a")
