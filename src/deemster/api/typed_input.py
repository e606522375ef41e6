"""Types into a program for a route or a WebSocket; admins who do it for others are recorded."""

from starlette.requests import HTTPConnection

from deemster.api.authentication import actor_of
from deemster.domain.account import Account
from deemster.domain.errors import Conflict
from deemster.domain.execution import ExecutionView, ProgramIo
from deemster.store import audit, executions
from deemster.store.pool import Connection


async def type_in(
    writing: Connection, view: ExecutionView, kind: str, content: bytes, key: str | None
) -> bool:
    """Returns False if the program has ended. What was typed with the same key before is not
    typed again (I1).
    """
    if view.io is ProgramIo.BATCH:
        raise Conflict(f"{view.id} was started without typed input: start it with io=streams.")
    return await executions.add_input(writing, view.id, kind, content, key=key)


async def record_typing(
    writing: Connection, request: HTTPConnection, caller: Account, view: ExecutionView
) -> None:
    if view.account != caller.id:
        await audit.record(writing, actor_of(request, caller), "execution.type", view.id)
