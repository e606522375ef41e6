"""The fair queue serves requests in order, and a request for many items all at once."""

import asyncio
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deemster.sandbox.pool import FairQueue


def no_preference(_: int) -> int:
    return 0


def queue_of(count: int) -> FairQueue[int]:
    queue: FairQueue[int] = FairQueue()
    for item in range(count):
        queue.release(item)
    return queue


def request(queue: FairQueue[int], count: int) -> "asyncio.Task[list[int]]":
    return asyncio.create_task(queue.acquire([no_preference] * count))


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_items_are_handed_out_in_the_order_of_the_requests() -> None:
    queue = queue_of(1)
    first, second, third = (request(queue, 1) for _ in range(3))
    assert await first == [0]
    await settle()
    assert not second.done()
    queue.release(0)
    assert await second == [0]
    queue.release(0)
    assert await third == [0]


async def test_the_item_that_is_free_longest_comes_first_among_equals() -> None:
    queue = queue_of(3)
    assert await queue.acquire([no_preference]) == [0]
    queue.release(0)
    assert await queue.acquire([no_preference] * 3) == [1, 2, 0]


async def test_each_preference_gets_its_best_item() -> None:
    queue = queue_of(4)
    assert await queue.acquire([lambda item: item == 2, lambda item: item]) == [2, 3]
    assert await queue.acquire([lambda item: -item]) == [0]


async def test_a_request_for_many_items_is_not_overtaken() -> None:
    queue = queue_of(2)
    await queue.acquire([no_preference])
    both, later = request(queue, 2), request(queue, 1)
    await settle()
    assert not both.done()
    assert not later.done()  # although one item is free
    queue.release(0)
    assert sorted(await both) == [0, 1]
    assert not later.done()
    queue.release(1)
    assert await later == [1]


async def test_a_cancelled_request_lets_the_next_one_pass() -> None:
    queue = queue_of(2)
    await queue.acquire([no_preference])
    both, later = request(queue, 2), request(queue, 1)
    await settle()
    both.cancel()
    assert await later == [1]
    assert both.cancelled()


async def test_an_item_that_arrives_during_a_cancellation_is_not_lost() -> None:
    queue = queue_of(1)
    await queue.acquire([no_preference])
    cancelled = request(queue, 1)
    await settle()
    queue.release(0)
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    assert await queue.acquire([no_preference]) == [0]


async def test_a_removed_item_is_not_handed_out() -> None:
    queue = queue_of(2)
    queue.remove(0)
    queue.remove(7)
    assert await queue.acquire([no_preference]) == [1]


async def test_all_waiting_requests_can_be_failed() -> None:
    queue = queue_of(0)
    waiting = [request(queue, count) for count in (1, 2, 1)]
    await settle()
    queue.fail_waiters(ValueError("closed"))
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert [str(result) for result in results] == ["closed"] * 3
    queue.release(0)
    assert await queue.acquire([no_preference]) == [0]


@given(st.lists(st.tuples(st.integers(1, 3), st.booleans(), st.integers(0, 4))))
def test_no_item_is_lost_or_handed_out_twice(requests: list[tuple[int, bool, int]]) -> None:
    """Whatever the number and size of the requests, and whichever are cancelled."""

    async def scenario() -> None:
        queue, held = queue_of(3), set[int]()

        async def use(count: int, steps: int) -> None:
            items = await queue.acquire([no_preference] * count)
            try:
                assert len(items) == count
                assert not held & set(items)
                held.update(items)
                for _ in range(steps):
                    await asyncio.sleep(0)
            finally:
                held.difference_update(items)
                for item in items:
                    queue.release(item)

        users = []
        for count, cancels, steps in requests:
            user = asyncio.create_task(use(count, steps))
            users.append(user)
            await asyncio.sleep(0)
            if cancels:
                users[len(users) // 2].cancel()
        for user in users:
            with suppress(asyncio.CancelledError):
                await user
        assert sorted(await queue.acquire([no_preference] * 3)) == [0, 1, 2]

    asyncio.run(scenario())
