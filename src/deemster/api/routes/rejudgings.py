"""`/v1/admin/rejudgings`: rejudge a set on trial, compare the verdicts, apply or drop them."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api import rejudgings
from deemster.api.app_state import app_state
from deemster.api.authentication import Caller, actor_of
from deemster.api.http.body import json_response, read_json, request_body
from deemster.api.http.errors import errors
from deemster.api.http.idempotent_replay import IDEMPOTENCY_KEY, respond_once
from deemster.api.http.paging import PageQuery
from deemster.api.models.rejudgings import (
    ChangePage,
    RejudgingIn,
    RejudgingOut,
    RejudgingPage,
    rejudging_out,
)
from deemster.domain.ids import RejudgingId
from deemster.pipeline.verdict import rejudging_set
from deemster.store.pool import transaction

router = APIRouter(tags=["rejudgings"])
PATH: Final = "/v1/admin/rejudgings"


@router.post(
    PATH,
    status_code=202,
    response_model=RejudgingOut,
    openapi_extra={**request_body(RejudgingIn), **IDEMPOTENCY_KEY},
    responses=errors(400, 408, 413, 415, 422),
)
async def create_rejudging(request: Request, caller: Caller) -> Response:
    """Judges submissions again on trial. Only admins see the results until they are applied.

    Submissions that are queued or running are not part of the set; `under_way` counts them.
    If the request is interrupted, the judge continues to create the trials; a repeat with the
    same Idempotency-Key returns the same set.
    """
    state = app_state(request)
    asked = await read_json(request, RejudgingIn)
    wanted = await rejudgings.to_filter(state, asked)
    async with transaction(state.pool) as writing:

        async def create() -> Response:
            actor = actor_of(request, caller)
            rejudging = await rejudging_set.begin(writing, wanted, actor, asked.reason)
            return Response(status_code=202, headers={"Location": f"{PATH}/{rejudging}"})

        first = await respond_once(request, caller, writing, asked, create)
    # The response shows the current state, because a repeat may continue an interrupted set.
    location = first.headers["location"]
    rejudging = RejudgingId(location.removeprefix(f"{PATH}/"))
    overview = await rejudging_set.stage_all(state.pool, rejudging)
    return json_response(rejudging_out(overview), 202, {"Location": location})


@router.get(PATH, response_model=RejudgingPage, responses=errors(422))
async def list_rejudgings(
    request: Request, _caller: Caller, query: Annotated[PageQuery, Query()]
) -> Response:
    """Lists rejudgings, newest first."""
    return json_response(await rejudgings.list_rejudgings(app_state(request), query))


@router.get(PATH + "/{id}", response_model=RejudgingOut, responses=errors(404))
async def show_rejudging(request: Request, _caller: Caller, id: str) -> Response:  # noqa: A002
    """Shows the progress of a rejudging, and how many verdicts change from which to which."""
    return json_response(await rejudgings.show_rejudging(app_state(request), id))


@router.get(PATH + "/{id}/changes", response_model=ChangePage, responses=errors(404, 422))
async def list_changes(
    request: Request,
    _caller: Caller,
    id: str,  # noqa: A002
    query: Annotated[PageQuery, Query()],
) -> Response:
    """Lists submissions whose verdict or score changes, and trials that can't be applied."""
    return json_response(await rejudgings.list_changes(app_state(request), id, query))


@router.post(PATH + "/{id}/apply", response_model=RejudgingOut, responses=errors(404, 409))
async def apply_rejudging(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Replaces all old submissions by their trials at once. All trials must have ended."""
    return json_response(await rejudgings.apply_rejudging(request, caller, id))


@router.post(PATH + "/{id}/drop", response_model=RejudgingOut, responses=errors(404, 409))
async def drop_rejudging(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Discards a rejudging: no result changes, and trials that have not ended are cancelled."""
    return json_response(await rejudgings.drop_rejudging(request, caller, id))
