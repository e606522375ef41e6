"""Runs executions for routes and compatible APIs: admits, accepts, waits, reads (E4)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from starlette.requests import HTTPConnection
from starlette.responses import Response

from deemster.api.admission import Admission
from deemster.api.feed.feed import Feed
from deemster.api.http.body import json_response
from deemster.api.lookups import may_see
from deemster.api.models.executions import EXECUTIONS_PATH, accepted_out
from deemster.domain.account import Account
from deemster.domain.errors import NotFound, Refused, Unavailable
from deemster.domain.execution import AcceptedExecution, ExecutionView, ProgramIo, Stream
from deemster.domain.ids import GENERATED_ID, ExecutionId
from deemster.domain.lifecycle import TERMINAL
from deemster.pipeline.accept.executions import ExecuteRequest, ExecutionAccept
from deemster.store import executions
from deemster.store.pool import Connection, Pool, connection

LONGEST_LOOK_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class ShownExecution:
    view: ExecutionView
    output: Mapping[Stream, bytes]


@dataclass(frozen=True, slots=True)
class Executions:
    pool: Pool
    accept: ExecutionAccept
    admission: Admission
    feed: Feed

    async def start(
        self, request: HTTPConnection, caller: Account, asked: ExecuteRequest
    ) -> AcceptedExecution:
        """Checks the caller's limits, and accepts the execution; it runs later.

        A repeat with its key gets the first answer, whatever the limits are by then (I1).
        """
        if asked.io is ProgramIo.BATCH:
            return await self._start(request, caller, asked)
        async with self.admission.live_turn(caller):
            return await self._start(request, caller, asked)

    async def _start(
        self, request: HTTPConnection, caller: Account, asked: ExecuteRequest
    ) -> AcceptedExecution:
        async with self.admission.rate_tokens() as tokens:
            try:
                await self.admission.admit_execution(request, caller, tokens)
                if asked.io is not ProgramIo.BATCH:
                    await self.admission.admit_live(caller)
            except (Refused, Unavailable):
                first = await self.accept.first_answer(caller, asked)
                if first is None:
                    raise
                await tokens.give_back()
                return first
            accepted, is_new = await self.accept.execute(caller, asked)
            if not is_new:
                await tokens.give_back()
            return accepted

    async def accepted_response(self, accepted: AcceptedExecution) -> Response:
        headers = {"Location": f"{EXECUTIONS_PATH}/{accepted.id}"}
        headers |= await self.admission.warning_headers()
        return json_response(accepted_out(accepted), 202, headers)

    async def wait(self, execution: ExecutionId, wait_s: float) -> ShownExecution | None:
        """Returns the execution when it has ended; None: it has not after so many seconds."""
        left_s = wait_s
        while left_s > 0:
            look_s = min(left_s, LONGEST_LOOK_S)
            await self.feed.wait_until_settled(
                execution, look_s, lambda: self._has_ended(execution)
            )
            found = await self.read(execution)
            if found.view.state in TERMINAL:
                return found
            left_s -= look_s
        return None

    async def read(self, execution: ExecutionId) -> ShownExecution:
        async with connection(self.pool) as acquired:
            view = await executions.get(acquired, execution)
            if view is None:
                raise unknown_execution()
            return ShownExecution(view, await executions.whole_output(acquired, execution))

    async def show(self, caller: Account, execution: str) -> ShownExecution:
        async with connection(self.pool) as acquired:
            view = await visible_execution(acquired, caller, execution)
            return ShownExecution(view, await executions.whole_output(acquired, view.id))

    async def _has_ended(self, execution: ExecutionId) -> bool:
        async with connection(self.pool) as acquired:
            view = await executions.get(acquired, execution)
        return view is None or view.state in TERMINAL


async def visible_execution(
    acquired: Connection, caller: Account, execution: str
) -> ExecutionView:
    """Does not reveal whether an execution of another account exists (A11)."""
    view = None
    if GENERATED_ID.fullmatch(execution):
        view = await executions.get(acquired, ExecutionId(execution))
    if view is None or not may_see(caller, view.account):
        raise unknown_execution()
    return view


def unknown_execution() -> NotFound:
    return NotFound(
        "There is no such execution, or it was deleted, or it belongs to another account."
    )
