"""`/v1/submissions`: submit, show, list, cancel and rejudge."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api.app_state import app_state
from deemster.api.authentication import BEARER, SECURED, Caller, actor_of
from deemster.api.http.body import json_response, read_json, request_body
from deemster.api.http.errors import errors
from deemster.api.http.idempotent_replay import IDEMPOTENCY_KEY, idempotency_key, respond_once
from deemster.api.lookups import visible_submission
from deemster.api.models.submissions import (
    SUBMISSIONS_PATH,
    AcceptedOut,
    SourceOut,
    SubmissionIn,
    SubmissionOut,
    SubmissionPage,
    SubmissionQuery,
    accepted_out,
    location_of,
)
from deemster.api.submissions import (
    accept_submission,
    admit_submission,
    await_submission,
    cached_submission,
    list_visible,
    read_source,
    read_submission,
)
from deemster.api.wait import WaitQuery
from deemster.pipeline.verdict.cancel import cancel
from deemster.pipeline.verdict.rejudge import rejudge
from deemster.store.pool import connection, transaction

router = APIRouter(tags=["submissions"])


@router.post(
    SUBMISSIONS_PATH,
    status_code=202,
    response_model=AcceptedOut,
    openapi_extra={**request_body(SubmissionIn), **SECURED, **IDEMPOTENCY_KEY},
    responses=errors(400, 404, 408, 409, 413, 415, 422),
)
async def submit(request: Request) -> Response:
    """Accepts a submission. It is judged later: see GET /v1/submissions/{id}."""
    # Not by FastAPI's dependencies, which are slow and would read the body of any stranger.
    caller = await BEARER(request)
    key = idempotency_key(request)
    state = app_state(request)
    async with state.admission.rate_tokens() as tokens:
        headers = await admit_submission(request, caller, key, tokens)
        asked = (await read_json(request, SubmissionIn)).to_submit_request(key)
        accepted = await accept_submission(state, caller, asked, tokens)
    return json_response(accepted_out(accepted), 202, {**location_of(accepted.id), **headers})


@router.get(
    SUBMISSIONS_PATH + "/{id}", response_model=SubmissionOut, responses=errors(404, 422)
)
async def show_submission(
    request: Request,
    caller: Caller,
    id: str,  # noqa: A002
    wait: WaitQuery = 0,
) -> Response:
    """Shows the status and the result of a submission. Its place in the queue may be 3 s old,
    its progress 1 s. With `wait`, the response comes when the verdict is known, or the
    submission has ended without one, or after so many seconds.
    """
    entry = await await_submission(app_state(request), caller, id, wait)
    return Response(entry.body, media_type="application/json")


async def show_current(request: Request) -> Response:
    """The same without `wait`, and without FastAPI's dependencies."""
    caller = await BEARER(request)
    entry = await cached_submission(app_state(request), caller, request.path_params["id"])
    return Response(entry.body, media_type="application/json")


@router.get(SUBMISSIONS_PATH, response_model=SubmissionPage, responses=errors(404, 422))
async def list_submissions(
    request: Request, caller: Caller, query: Annotated[SubmissionQuery, Query()]
) -> Response:
    """Lists submissions, newest first. Users who are not admins see only their own."""
    body = await list_visible(app_state(request), caller, query)
    return Response(body, media_type="application/json")


@router.get(SUBMISSIONS_PATH + "/{id}/source", response_model=SourceOut, responses=errors(404))
async def show_source(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Shows the source files of a submission."""
    return json_response(await read_source(app_state(request), caller, id))


@router.delete(
    SUBMISSIONS_PATH + "/{id}", response_model=SubmissionOut, responses=errors(404, 409)
)
async def cancel_submission(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Cancels a submission that has not ended. If its program runs, it is killed."""
    state = app_state(request)
    async with connection(state.pool) as acquired:
        view = await visible_submission(acquired, caller, id)
    actor = actor_of(request, caller) if caller.id != view.account else None
    await cancel(state.pool, view.id, actor=actor)
    state.cache_invalidation.forget_work(view.id, view.account)
    async with connection(state.pool) as acquired:
        return json_response(await read_submission(acquired, caller, id))


@router.post(
    SUBMISSIONS_PATH + "/{id}/rejudge",
    status_code=202,
    response_model=AcceptedOut,
    openapi_extra=IDEMPOTENCY_KEY,
    responses=errors(404, 409, 422),
)
async def rejudge_submission(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Replaces a submission by a new one with the same source. The old verdict stays readable.
    Only admins can do this.
    """
    state = app_state(request)
    async with transaction(state.pool) as writing:
        view = await visible_submission(writing, caller, id)

        async def create() -> Response:
            accepted = await rejudge(writing, view.id, actor=actor_of(request, caller))
            return json_response(accepted_out(accepted), 202, location_of(accepted.id))

        response = await respond_once(request, caller, writing, None, create)
    state.cache_invalidation.forget_work(view.id, view.account)
    return response
