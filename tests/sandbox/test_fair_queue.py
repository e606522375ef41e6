"""Who asks first gets first; who asks for many gets all of them, or waits for all."""

import asyncio
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deemster.sandbox.fair_queue import FairQueue


def indifferent(_: int) -> int:
    return 0


def turns_with(things: int) -> FairQueue[int]:
    turns: FairQueue[int] = FairQueue()
    for thing in range(things):
        turns.put(thing)
    return turns


def take(turns: FairQueue[int], count: int) -> "asyncio.Task[list[int]]":
    return asyncio.create_task(turns.take([indifferent] * count))


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_things_are_handed_out_in_order_of_asking() -> None:
    turns = turns_with(1)
    first, second, third = (take(turns, 1) for _ in range(3))
    assert await first == [0]
    await settle()
    assert not second.done()
    turns.put(0)
    assert await second == [0]
    turns.put(0)
    assert await third == [0]


async def test_the_longest_free_comes_first_among_equals() -> None:
    turns = turns_with(3)
    assert await turns.take([indifferent]) == [0]
    turns.put(0)
    assert await turns.take([indifferent] * 3) == [1, 2, 0]


async def test_what_is_liked_best_is_picked_for_each() -> None:
    turns = turns_with(4)
    assert await turns.take([lambda thing: thing == 2, lambda thing: thing]) == [2, 3]
    assert await turns.take([lambda thing: -thing]) == [0]


async def test_who_asks_for_many_is_not_overtaken() -> None:
    turns = turns_with(2)
    await turns.take([indifferent])
    both, later = take(turns, 2), take(turns, 1)
    await settle()
    assert not both.done()
    assert not later.done()  # though one is free
    turns.put(0)
    assert sorted(await both) == [0, 1]
    assert not later.done()
    turns.put(1)
    assert await later == [1]


async def test_who_leaves_lets_the_next_one_pass() -> None:
    turns = turns_with(2)
    await turns.take([indifferent])
    both, later = take(turns, 2), take(turns, 1)
    await settle()
    both.cancel()
    assert await later == [1]
    assert both.cancelled()


async def test_what_comes_in_the_moment_of_leaving_is_not_lost() -> None:
    turns = turns_with(1)
    await turns.take([indifferent])
    leaving = take(turns, 1)
    await settle()
    turns.put(0)
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    assert await turns.take([indifferent]) == [0]


async def test_what_is_removed_is_not_handed_out() -> None:
    turns = turns_with(2)
    turns.remove(0)
    turns.remove(7)
    assert await turns.take([indifferent]) == [1]


async def test_all_who_wait_can_be_turned_away() -> None:
    turns = turns_with(0)
    waiting = [take(turns, count) for count in (1, 2, 1)]
    await settle()
    turns.turn_away(ValueError("closed"))
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert [str(result) for result in results] == ["closed"] * 3
    turns.put(0)
    assert await turns.take([indifferent]) == [0]


@given(st.lists(st.tuples(st.integers(1, 3), st.booleans(), st.integers(0, 4))))
def test_nothing_is_lost_or_handed_out_twice(asked: list[tuple[int, bool, int]]) -> None:
    """However many ask, for however many, and whoever leaves when."""

    async def scenario() -> None:
        turns, held = turns_with(3), set[int]()

        async def use(count: int, pauses: int) -> None:
            taken = await turns.take([indifferent] * count)
            try:
                assert len(taken) == count
                assert not held & set(taken)
                held.update(taken)
                for _ in range(pauses):
                    await asyncio.sleep(0)
            finally:
                held.difference_update(taken)
                for thing in taken:
                    turns.put(thing)

        users = []
        for count, leaves, pauses in asked:
            user = asyncio.create_task(use(count, pauses))
            users.append(user)
            await asyncio.sleep(0)
            if leaves:
                users[len(users) // 2].cancel()
        for user in users:
            with suppress(asyncio.CancelledError):
                await user
        assert sorted(await turns.take([indifferent] * 3)) == [0, 1, 2]

    asyncio.run(scenario())
