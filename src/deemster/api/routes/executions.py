"""`/v1/executions`: run programs without a problem; show, list and end their runs (E4)."""

from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api.app_state import AppState, app_state
from deemster.api.authentication import BEARER, SECURED, Caller, actor_of
from deemster.api.code_sessions import session_filter
from deemster.api.executions import visible_execution
from deemster.api.http.body import json_response, read_json, request_body
from deemster.api.http.errors import FieldFault, Invalid, errors
from deemster.api.http.idempotent_replay import (
    HEADER,
    IDEMPOTENCY_KEY,
    MAX_CHARS,
    idempotency_key,
)
from deemster.api.http.paging import cut
from deemster.api.http.webhook_url import check_webhook_url
from deemster.api.lookups import account_filter
from deemster.api.models.executions import (
    BATCH_BYTES,
    EXECUTIONS_PATH,
    MAX_IN_BATCH,
    AcceptedExecutionOut,
    BatchIn,
    BatchItemOut,
    BatchOut,
    ExecutionIn,
    ExecutionOut,
    ExecutionPage,
    ExecutionQuery,
    accepted_out,
    execution_out,
)
from deemster.api.wait import WaitQuery, waiting_request
from deemster.domain.account import Account
from deemster.domain.errors import DeemsterError
from deemster.domain.execution import AcceptedExecution, ProgramIo
from deemster.domain.ids import ExecutionId
from deemster.domain.lifecycle import TERMINAL
from deemster.pipeline.verdict.cancel import cancel
from deemster.store import executions
from deemster.store.pool import connection

router = APIRouter(tags=["executions"])
LONGEST_BATCH_KEY: Final = MAX_CHARS - len(f".{MAX_IN_BATCH - 1}")


@router.post(
    EXECUTIONS_PATH,
    status_code=202,
    response_model=AcceptedExecutionOut,
    openapi_extra={**request_body(ExecutionIn), **SECURED, **IDEMPOTENCY_KEY},
    responses=errors(400, 408, 409, 413, 415, 422),
)
async def execute(request: Request) -> Response:
    """Accepts a program to be run once. It runs later: see GET /v1/executions/{id}."""
    caller = await BEARER(request)
    state = app_state(request)
    asked = await read_json(request, ExecutionIn, BATCH_BYTES)
    accepted = await start(request, state, caller, asked, idempotency_key(request))
    return await state.executions.accepted_response(accepted)


@router.post(
    EXECUTIONS_PATH + "/batch",
    status_code=202,
    response_model=BatchOut,
    openapi_extra={**request_body(BatchIn), **SECURED, **IDEMPOTENCY_KEY},
    responses=errors(400, 408, 413, 415, 422),
)
async def execute_batch(request: Request) -> Response:
    """Accepts up to 100 programs. Each has its own answer: one that is refused does not stop
    the others. With an idempotency key of up to 252 characters, each has the key with its
    number, from 0, after a dot.
    """
    caller = await BEARER(request)
    state = app_state(request)
    asked = await read_json(request, BatchIn, BATCH_BYTES)
    key = idempotency_key(request)
    if key is not None and len(key) > LONGEST_BATCH_KEY:
        raise Invalid(
            [FieldFault(HEADER, f"a batch's has at most {LONGEST_BATCH_KEY} characters")]
        )
    answers = []
    for number, each in enumerate(asked.executions):
        try:
            accepted = await start(
                request, state, caller, each, f"{key}.{number}" if key else None
            )
        except DeemsterError as fault:
            answers.append(BatchItemOut(error=str(fault), code=fault.code))
        else:
            answers.append(BatchItemOut(**accepted_out(accepted).model_dump()))
    return json_response(BatchOut(executions=answers), 202, {})


async def start(
    request: Request, state: AppState, caller: Account, asked: ExecutionIn, key: str | None
) -> AcceptedExecution:
    check_webhook_url(asked.webhook_url, state.settings)
    default = state.executions.accept.default_for(ProgramIo(asked.io))
    return await state.executions.start(request, caller, asked.to_execute_request(default, key))


@router.get(EXECUTIONS_PATH, response_model=ExecutionPage, responses=errors(404, 422))
async def list_executions(
    request: Request, caller: Caller, query: Annotated[ExecutionQuery, Query()]
) -> ExecutionPage:
    """Lists executions without their output, newest first."""
    async with connection(app_state(request).pool) as acquired:
        account = await account_filter(acquired, caller, query.user)
        found = await executions.page(
            acquired,
            account=account,
            session=await session_filter(acquired, account, query.session_id),
            before=ExecutionId(query.last_id) if query.last_id else None,
            limit=query.limit + 1,
        )
    items, after = cut(found, query.limit, lambda view: view.id)
    return ExecutionPage(items=[execution_out(each, None) for each in items], next_cursor=after)


@router.get(EXECUTIONS_PATH + "/{id}", response_model=ExecutionOut, responses=errors(404, 422))
async def show_execution(
    request: Request,
    caller: Caller,
    id: str,  # noqa: A002
    wait: WaitQuery = 0,
    output: Literal["text", "base64"] = "text",
) -> Response:
    """Shows the status of an execution, and what the program has written so far. With `wait`,
    the response comes when the execution has ended, or after so many seconds.
    """
    state = app_state(request)
    service = state.executions
    shown = await service.show(caller, id)
    if wait > 0 and shown.view.state not in TERMINAL:
        with waiting_request(state, caller, wait) as bounded_s:
            found = await service.wait(shown.view.id, bounded_s)
        shown = found or await service.show(caller, id)
    out = execution_out(shown.view, shown.output, as_base64=output == "base64")
    return json_response(out, 200, {})


@router.delete(
    EXECUTIONS_PATH + "/{id}", response_model=ExecutionOut, responses=errors(404, 409, 422)
)
async def end_execution(
    request: Request,
    caller: Caller,
    id: str,  # noqa: A002
) -> ExecutionOut:
    """Ends an execution: a running program is killed."""
    state = app_state(request)
    async with connection(state.pool) as acquired:
        view = await visible_execution(acquired, caller, id)
    await cancel(
        state.pool,
        view.id,
        actor=None if view.account == caller.id else actor_of(request, caller),
    )
    async with connection(state.pool) as acquired:
        return execution_out(await visible_execution(acquired, caller, id), None)
