"""Tests for queue/slots.py: the order in which claimed jobs get slots."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from deemster.pipeline.queue.slots import Slots, SlotTurn


@asynccontextmanager
async def two_claimed(compiling: int = 0) -> AsyncIterator[tuple[Slots, SlotTurn, SlotTurn]]:
    """One slot, and a compile slot, for which a second job may be claimed."""
    slots = Slots(1, 60.0, compile_slots=1, compiling=lambda: compiling)
    async with asyncio.timeout(60), slots.claiming() as first, slots.claiming() as second:
        first.claimed()
        second.claimed()
        yield slots, first, second


async def test_q8_a_job_that_is_ready_first_does_not_overtake_the_one_before_it() -> None:
    async with two_claimed() as (slots, first, second), asyncio.TaskGroup() as group:
        entering = group.create_task(second.enter())
        await asyncio.sleep(0)
        assert (slots.busy, entering.done()) == (0, False)
        await first.enter()
        assert (slots.busy, entering.done()) == (1, False)
        first.leave()
        await entering
        assert slots.busy == 1


async def test_a_job_overtakes_one_whose_program_is_compiled() -> None:
    async with two_claimed(compiling=1) as (slots, first, second), asyncio.TaskGroup() as group:
        await second.enter()
        entering = group.create_task(first.enter())
        await asyncio.sleep(0)
        assert (slots.busy, entering.done()) == (1, False)
        second.leave()
        await entering


async def test_a_job_that_takes_long_to_be_ready_leaves_other_slots_to_others() -> None:
    slots = Slots(2, 60.0)
    async with asyncio.timeout(60), slots.claiming() as first, slots.claiming() as second:
        first.claimed()
        second.claimed()
        await second.enter()
        assert slots.busy == 1


async def test_a_job_that_is_dropped_lets_the_next_one_have_the_slot() -> None:
    async with two_claimed() as (slots, first, second), asyncio.TaskGroup() as group:
        entering = group.create_task(second.enter())
        await asyncio.sleep(0)
        first.leave()
        await entering
        assert slots.busy == 1


async def test_no_more_jobs_are_claimed_than_there_are_slots_of_both_kinds() -> None:
    async with two_claimed() as (slots, first, _), asyncio.TaskGroup() as group:

        async def claim() -> None:
            async with slots.claiming():
                pass

        claiming = group.create_task(claim())
        await asyncio.sleep(0)
        assert not claiming.done()
        await first.enter()
        await claiming
