"""`/v1/admin/judge-hosts`: add, list, pause, drain and revoke judge hosts (M4)."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api import judge_host_admin as hosts
from deemster.api.app_state import app_state
from deemster.api.authentication import Caller, actor_of
from deemster.api.http.body import json_response, read_json, request_body
from deemster.api.http.errors import errors
from deemster.api.http.idempotent_replay import IDEMPOTENCY_KEY, respond_once
from deemster.api.models.judge_hosts import (
    BODY_BYTES,
    HostVerdictOut,
    HostVerdictsOut,
    HostVerdictsQuery,
    JudgeHostIn,
    JudgeHostOut,
    JudgeHostsOut,
    NewKeyOut,
    PauseIn,
    new_key_out,
)
from deemster.domain.judge_host import JudgeHostId, check_name, derive_key
from deemster.store import audit, judge_hosts, remote_tasks
from deemster.store.pool import Connection, transaction

router = APIRouter(tags=["admin"])
PATH: Final = "/v1/admin/judge-hosts"


@router.get(PATH, response_model=JudgeHostsOut)
async def list_hosts(request: Request, _caller: Caller) -> Response:
    """Lists the judge hosts that are not revoked, by name."""
    return json_response(JudgeHostsOut(items=await hosts.list_hosts(app_state(request))))


@router.post(
    PATH,
    status_code=201,
    response_model=NewKeyOut,
    openapi_extra={**request_body(JudgeHostIn), **IDEMPOTENCY_KEY},
    responses=errors(400, 408, 409, 413, 415, 422),
)
async def add_host(request: Request, caller: Caller) -> Response:
    """Adds a judge host, and makes its key. Only this response shows the key."""
    asked = await read_json(request, JudgeHostIn, BODY_BYTES)
    name = check_name(asked.name)
    async with transaction(app_state(request).pool) as acquired:

        async def add() -> Response:
            host = await judge_hosts.add(acquired, name, created_by=caller.name)
            actor = actor_of(request, caller)
            await audit.record(acquired, actor, "judge_host.add", host, name=name)
            return await key_response(request, acquired, host, generation=1, status=201)

        return await respond_once(request, caller, acquired, asked, add)


@router.post(
    PATH + "/{id}/pause",
    response_model=JudgeHostOut,
    openapi_extra=request_body(PauseIn),
    responses=errors(400, 404, 408, 413, 415, 422),
)
async def pause_host(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Gives a judge host no more tasks until `resume`, also after it starts again. It finishes
    those that it has.
    """
    asked = await read_json(request, PauseIn, BODY_BYTES)
    return json_response(await hosts.pause_host(request, caller, id, asked))


@router.post(PATH + "/{id}/resume", response_model=JudgeHostOut, responses=errors(404))
async def resume_host(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Gives a judge host tasks again that was paused or drained."""
    return json_response(await hosts.resume_host(request, caller, id))


@router.post(PATH + "/{id}/drain", response_model=JudgeHostOut, responses=errors(404, 409))
async def drain_host(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Gives a judge host no more tasks until `resume`, or until it starts again. 409 means that
    the host does not run.
    """
    return json_response(await hosts.drain_host(request, caller, id))


@router.post(PATH + "/{id}/revoke", response_model=JudgeHostOut, responses=errors(404))
async def revoke_host(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Refuses a judge host for ever. What it runs is given to others at once."""
    return json_response(await hosts.revoke_host(request, caller, id))


@router.post(
    PATH + "/{id}/rotate",
    response_model=NewKeyOut,
    openapi_extra=IDEMPOTENCY_KEY,
    responses=errors(404, 409, 422),
)
async def rotate_key(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Replaces the key of a judge host; the old one is refused at once, and what the host runs
    is given to others. Only this response shows the new key.
    """
    async with transaction(app_state(request).pool) as acquired:
        host = await judge_hosts.lock(acquired, id)

        async def rotate() -> Response:
            generation = await judge_hosts.rotate(acquired, host.id)
            assert generation is not None, "it is locked"
            actor = actor_of(request, caller)
            await audit.record(acquired, actor, "judge_host.rotate", host.id, name=host.name)
            return await key_response(request, acquired, host.id, generation=generation)

        return await respond_once(request, caller, acquired, None, rotate)


@router.get(PATH + "/{id}/verdicts", response_model=HostVerdictsOut, responses=errors(404, 422))
async def list_verdicts(
    request: Request,
    _caller: Caller,
    id: str,  # noqa: A002
    query: Annotated[HostVerdictsQuery, Query()],
) -> Response:
    """Lists what a judge host has judged lately, newest first: if the host was wrong, make a
    rejudging of these submissions.
    """
    async with transaction(app_state(request).pool) as acquired:
        host = await judge_hosts.lock(acquired, id)
        found = await remote_tasks.judged_by(
            acquired, host.id, within_s=query.hours * 3600, limit=query.limit
        )
    items = [
        HostVerdictOut(
            submission_id=each.submission, verdict=each.verdict, judged_at=each.ended_at
        )
        for each in found
    ]
    return json_response(HostVerdictsOut(items=items))


async def key_response(
    request: Request,
    acquired: Connection,
    host: JudgeHostId,
    *,
    generation: int,
    status: int = 200,
) -> Response:
    key = derive_key(app_state(request).dependencies.secret, host, generation)
    view = await judge_hosts.get(acquired, host)
    assert view is not None, "this transaction has changed it"
    return json_response(new_key_out(view, key.text), status)
