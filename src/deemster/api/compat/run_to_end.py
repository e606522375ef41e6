"""Runs executions to their end for compatible APIs, whose clients expect one answer."""

from contextlib import suppress
from typing import Final

from starlette.requests import Request

from deemster.api.app_state import AppState, app_state
from deemster.api.executions import ShownExecution
from deemster.domain.account import Account
from deemster.domain.errors import Conflict, NotFound
from deemster.domain.ids import ExecutionId
from deemster.pipeline.accept.executions import ExecuteRequest
from deemster.pipeline.verdict.cancel import cancel
from deemster.store import executions
from deemster.store.pool import connection

QUEUE_S: Final = 60.0
"""How long a request waits for its turn; clients that know no queue expect one answer."""


async def run_to_end(
    request: Request, caller: Account, asked: ExecuteRequest, wait_s: float
) -> ShownExecution | None:
    """Returns None if the execution has not ended after so many seconds: it is cancelled."""
    service = app_state(request).executions
    accepted = await service.start(request, caller, asked)
    shown = await service.wait(accepted.id, wait_s)
    if shown is None:
        await stop(app_state(request), accepted.id)
    return shown


async def stop(state: AppState, execution: ExecutionId) -> None:
    # It may end in this moment.
    with suppress(Conflict, NotFound):
        await cancel(state.pool, execution)


async def output_in_order(state: AppState, execution: ExecutionId) -> bytes:
    """Both streams, in the order in which the program wrote."""
    contents: list[bytes] = []
    async with connection(state.pool) as acquired:
        found = await executions.output_after(acquired, execution)
        while found:
            contents += (each.content for each in found)
            last = found[-1]
            found = await executions.output_after(
                acquired, execution, attempt=last.attempt, number=last.number
            )
    return b"".join(contents)
