"""Output is stored whole, in order and once, whatever happens to its first write (E8)."""

import asyncio

import pytest

from deemster.domain.execution import Stream
from deemster.domain.ids import EXECUTION, ExecutionId, new_id
from deemster.pipeline.execute.output_log import MAX_PENDING, OutputLog
from deemster.pipeline.execute.output_recorder import OutputRecorder
from deemster.store import executions
from deemster.store.notifications import OUTPUT_CHANNEL, Listener, notify_output
from deemster.store.pool import Pool, connection
from tests.builders import make_execution, start_execution
from tests.waiting import until

OUT, ERR = Stream.STDOUT, Stream.STDERR


def make_log(execution: ExecutionId | None = None) -> OutputLog:
    return OutputLog(execution or ExecutionId(new_id(EXECUTION)), 1, lambda: None)


def contents(output: OutputLog) -> list[tuple[int, Stream, bytes]]:
    return [(each.number, each.stream, each.content) for each in output.pending]


async def stored(pool: Pool, execution: ExecutionId) -> bytes:
    async with connection(pool) as acquired:
        return b"".join(
            each.content for each in await executions.output_after(acquired, execution)
        )


async def test_output_after_a_write_that_seemed_to_fail_is_not_lost(pool: Pool) -> None:
    """The write was committed, but its answer was lost."""
    execution = await make_execution(pool)
    await start_execution(pool, execution)
    output = make_log(execution)
    output.add(OUT, b"first ")
    taken = output.take()
    async with connection(pool) as acquired:
        await executions.add_output(acquired, [(execution, each) for each in taken])
    output.add(OUT, b"meanwhile ")
    output.give_back(taken)
    output.add(OUT, b"later")
    async with connection(pool) as acquired:
        await executions.add_output(acquired, [(execution, each) for each in output.take()])
    assert await stored(pool, execution) == b"first meanwhile later"


def test_a_program_that_changes_streams_makes_few_chunks() -> None:
    output = make_log()
    for number in range(10_000):
        output.add(Stream(1 + number % 2), b"%d " % number)
    output.give_back(output.take())
    for number in range(10_000, 20_000):
        output.add(Stream(1 + number % 2), b"%d " % number)
    assert len(output.pending) <= 2 * MAX_PENDING
    for stream, first in ((OUT, 0), (ERR, 1)):
        whole = b"".join(each for _, its, each in contents(output) if its is stream)
        assert whole == b"".join(b"%d " % each for each in range(first, 20_000, 2))
    numbers = [number for number, _, _ in contents(output)]
    assert numbers == [*range(1, len(numbers) + 1)]


async def test_an_older_attempt_that_ends_late_does_not_stop_the_newer_one(pool: Pool) -> None:
    """Both run in the same worker, after the first was taken for dead."""
    execution = await make_execution(pool)
    await start_execution(pool, execution)
    async with OutputRecorder.open(pool) as recorder:
        older = recorder.recording(execution, 0, is_live=True)
        await older.__aenter__()
        async with recorder.recording(execution, 1, is_live=True) as newer:
            await older.__aexit__(None, None, None)
            newer.add(OUT, b"live")

            async def is_stored() -> bool:
                return await stored(pool, execution) == b"live"

            await until(is_stored)


@pytest.mark.parametrize("count", [1, 1000])
async def test_a_notice_can_be_of_many_executions(
    pool: Pool, database_url: str, count: int
) -> None:
    ids = [ExecutionId(new_id(EXECUTION)) for _ in range(count)]
    async with Listener.open(database_url, OUTPUT_CHANNEL) as listener:
        seen: set[str] = set()

        async def gather() -> None:
            while len(seen) < count:
                for payload in await listener.wait(60):
                    seen.update(payload.split())

        async with asyncio.TaskGroup() as group:
            group.create_task(gather())

            async def notify_until_seen() -> bool:
                async with connection(pool) as acquired:
                    await notify_output(acquired, ids)
                return len(seen) == count

            await until(notify_until_seen)
    assert seen == set(ids)
