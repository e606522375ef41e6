"""What is typed reaches the worker whole and in order, once, and within a bound (E5)."""

import asyncio

import pytest

from deemster.domain.errors import Conflict
from deemster.domain.execution import TYPED_BYTES
from deemster.domain.ids import ExecutionId
from deemster.store import executions
from deemster.store.idempotency_keys import KeyReused
from deemster.store.pool import Pool, connection, transaction
from tests.builders import end_execution, make_execution, start_execution
from tests.store.conftest import is_waiting_for_a_lock
from tests.waiting import until


async def typed(pool: Pool, execution: ExecutionId, after: int = 0) -> list[tuple[int, bytes]]:
    async with connection(pool) as acquired:
        found = await executions.input_after(acquired, execution, after)
    return [(each.id, each.content) for each in found]


async def test_a_worker_that_has_seen_an_input_never_misses_an_earlier_one(pool: Pool) -> None:
    """Two clients type at the same time, and the first one's transaction takes longer."""
    execution = await make_execution(pool)

    async def type_second() -> None:
        async with connection(pool) as acquired:
            await executions.add_input(acquired, execution, "data", b"second")

    async with asyncio.TaskGroup() as group, transaction(pool) as slow:
        await executions.add_input(slow, execution, "data", b"first")
        second = group.create_task(type_second())

        async def waits_or_is_seen() -> bool:
            return second.done() or await is_waiting_for_a_lock(pool)

        await until(waits_or_is_seen)
        seen = await typed(pool, execution)
    seen += await typed(pool, execution, after=seen[-1][0] if seen else 0)
    assert [content for _, content in seen] == [b"first", b"second"]


async def test_i1_input_with_a_key_is_typed_once(pool: Pool) -> None:
    execution = await make_execution(pool)
    async with connection(pool) as acquired:
        for _ in range(3):
            assert await executions.add_input(acquired, execution, "data", b"a", key="k")
        with pytest.raises(KeyReused):
            await executions.add_input(acquired, execution, "data", b"b", key="k")
        other = await make_execution(pool)
        assert await executions.add_input(acquired, other, "data", b"b", key="k")
    assert [content for _, content in await typed(pool, execution)] == [b"a"]
    await end_execution(pool, await start_execution(pool, execution))
    async with connection(pool) as acquired:
        assert await executions.add_input(acquired, execution, "data", b"a", key="k")
        assert not await executions.add_input(acquired, execution, "data", b"a", key="later")


async def test_d3_the_input_of_an_execution_is_bounded(pool: Pool) -> None:
    execution = await make_execution(pool)
    async with connection(pool) as acquired:
        half = b"x" * (TYPED_BYTES // 2)
        assert await executions.add_input(acquired, execution, "data", half)
        with pytest.raises(Conflict, match="no more"):
            await executions.add_input(acquired, execution, "data", half)
        assert await executions.add_input(acquired, execution, "end")
        await acquired.execute("UPDATE execution SET input_bytes = $1", TYPED_BYTES)
        with pytest.raises(Conflict, match="no more"):
            await executions.add_input(acquired, execution, "end")
