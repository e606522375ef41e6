"""Sends the output of a running program to the server while the program runs."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

import structlog

from deemster.domain.errors import DeemsterError
from deemster.domain.ids import ExecutionId
from deemster.pipeline.execute.output_log import OutputLog
from deemster.pipeline.remote.messages import HostTask, Update

log = structlog.get_logger()

PAUSE_S: Final = 0.1
"""At least this time is between two updates of one program."""
RETRY_S: Final = 1.0

SendUpdate = Callable[[HostTask, Update], Awaitable[None]]


@asynccontextmanager
async def sent_output(
    task: HostTask, send: SendUpdate, *, is_live: bool
) -> AsyncIterator[OutputLog]:
    """Within the block, output is sent soon after it was written, if it is live.

    What is pending after the block is to be sent with the result.
    """
    has_output = asyncio.Event()
    output = OutputLog(ExecutionId(task.work), task.attempt, has_output.set)
    if not is_live:
        yield output
        return
    async with asyncio.TaskGroup() as group:
        sender = group.create_task(keep_sending(task, send, output, has_output))
        try:
            yield output
        finally:
            sender.cancel()


async def keep_sending(
    task: HostTask, send: SendUpdate, output: OutputLog, has_output: asyncio.Event
) -> None:
    while True:
        await has_output.wait()
        await asyncio.sleep(PAUSE_S)
        has_output.clear()
        chunks = output.take()
        if not chunks:
            continue
        try:
            await send(task, Update(output=chunks))
        except BaseException as fault:
            # Nobody knows whether the server has them. It ignores numbers that it has.
            output.give_back(chunks)
            if not isinstance(fault, DeemsterError):
                raise
            log.warning("judgehost.output_not_sent", judgeId=task.judge_id, error=str(fault))
            await asyncio.sleep(RETRY_S)
            has_output.set()
