"""Executions: their output by attempt, and their end while others delete them (E6, E8)."""

import asyncio

import pytest

from deemster.domain.ids import CODE_SESSION, CodeSessionId, new_id
from deemster.domain.job import Task
from deemster.domain.lifecycle import Event
from deemster.pipeline.verdict.cancel import cancel_in
from deemster.pipeline.verdict.delete_code_session import delete_code_session
from deemster.pipeline.verdict.retry import requeue
from deemster.store import code_sessions, executions
from deemster.store.lifecycle import StateChanged
from deemster.store.pool import Pool, connection, transaction
from tests.builders import (
    end_execution,
    make_account,
    make_execution,
    start_execution,
    write_output,
)
from tests.store.conftest import is_waiting_for_a_lock
from tests.waiting import until


async def test_output_of_an_older_attempt_is_not_shown_for_a_newer_one(pool: Pool) -> None:
    """The second attempt writes nothing."""
    execution = await make_execution(pool)
    first = await start_execution(pool, execution)
    await write_output(pool, first, b"old")
    async with connection(pool) as acquired:
        assert [
            each.content for each in await executions.output_after(acquired, execution)
        ] == [b"old"]
    async with transaction(pool) as writing:
        await requeue(
            writing, Event.RESCUE, execution, Task.EXECUTE, first.attempt, reason="a test"
        )
    second = await start_execution(pool, execution)
    await write_output(pool, first, b"late", first=2)
    async with connection(pool) as acquired:
        assert await executions.output_after(acquired, execution) == []
    await end_execution(pool, second)
    async with connection(pool) as acquired:
        assert await executions.output_after(acquired, execution) == []
        assert await executions.whole_output(acquired, execution) == {}


async def test_an_execution_is_settled_while_its_session_is_deleted(pool: Pool) -> None:
    """E6: both lock the same rows in the same order, so neither fails by a deadlock."""
    account = await make_account(pool)
    session = CodeSessionId(new_id(CODE_SESSION))
    async with transaction(pool) as writing:
        await code_sessions.add(writing, session, account, language="c", source="", most=1)
    running = await start_execution(pool, await make_execution(pool, account, session=session))

    async def settle() -> None:
        with pytest.raises(StateChanged):
            await end_execution(pool, running)

    async with asyncio.TaskGroup() as group, transaction(pool) as deleting:
        await code_sessions.lock(deleting, session, account)
        await cancel_in(deleting, running.id)
        group.create_task(settle())
        await until(lambda: is_waiting_for_a_lock(pool))
        await code_sessions.delete(deleting, session)


async def test_a_session_is_deleted_with_more_executions_than_fit_into_one_statement(
    pool: Pool,
) -> None:
    """E6"""
    account = await make_account(pool)
    session = CodeSessionId(new_id(CODE_SESSION))
    async with transaction(pool) as writing:
        await code_sessions.add(writing, session, account, language="c", source="", most=1)
    for _ in range(5):
        execution = await make_execution(pool, account, session=session)
        await end_execution(pool, await start_execution(pool, execution))
    other = await make_execution(pool, account)
    waiting = await make_execution(pool, account, session=session)
    async with connection(pool) as acquired:
        assert await code_sessions.delete_ended_executions(acquired, session, limit=2) == 2
    assert await delete_code_session(pool, session, account)
    assert not await delete_code_session(pool, session, account)
    async with connection(pool) as acquired:
        assert await executions.get(acquired, waiting) is None
        assert await acquired.fetchval("SELECT array_agg(id) FROM work") == [other]
