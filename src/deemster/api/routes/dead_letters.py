"""`/v1/admin/dead-letters`: list, requeue and discard submissions that can't be judged (Q7)."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api import dead_letters
from deemster.api.app_state import app_state
from deemster.api.authentication import Caller, actor_of
from deemster.api.http.body import json_response
from deemster.api.http.errors import errors
from deemster.api.http.idempotent_replay import IDEMPOTENCY_KEY, respond_once
from deemster.api.models.dead_letters import DeadLetterOut, DeadLetterPage, DeadLetterQuery
from deemster.api.models.stages import RequestedOut
from deemster.api.models.submissions import AcceptedOut, accepted_out, location_of
from deemster.pipeline.verdict import dead_letter_actions
from deemster.store.pool import transaction

router = APIRouter(tags=["admin"])
PATH: Final = "/v1/admin/dead-letters"


@router.get(PATH, response_model=DeadLetterPage, responses=errors(422))
async def list_dead_letters(
    request: Request, _caller: Caller, query: Annotated[DeadLetterQuery, Query()]
) -> Response:
    """Lists dead letters, newest first."""
    return json_response(await dead_letters.list_dead_letters(app_state(request), query))


@router.get(PATH + "/{number}", response_model=DeadLetterOut, responses=errors(404))
async def show_dead_letter(request: Request, _caller: Caller, number: str) -> Response:
    """Shows a dead letter with its error, its context and the history of its submission."""
    return json_response(await dead_letters.show_dead_letter(app_state(request), number))


@router.post(
    PATH + "/{number}/requeue",
    status_code=202,
    response_model=AcceptedOut | RequestedOut,
    openapi_extra=IDEMPOTENCY_KEY,
    responses=errors(404, 409, 422),
)
async def requeue_dead_letter(request: Request, caller: Caller, number: str) -> Response:
    """Creates a new submission that replaces the failed one. The failed one stays readable. For
    a failed analysis, the program is analysed again, and its submission stays the same.
    """
    state = app_state(request)
    letter = dead_letters.parse_dead_letter_number(number)
    async with transaction(state.pool) as writing:

        async def create() -> Response:
            actor = actor_of(request, caller)
            accepted = await dead_letter_actions.requeue(writing, letter, actor=actor)
            if isinstance(accepted, str):
                return json_response(RequestedOut(status="queued"), 202, {})
            return json_response(accepted_out(accepted), 202, location_of(accepted.id))

        response = await respond_once(request, caller, writing, None, create)
    state.cache_invalidation.forget_submissions()
    return response


@router.post(
    PATH + "/{number}/discard", response_model=DeadLetterOut, responses=errors(404, 409)
)
async def discard_dead_letter(request: Request, caller: Caller, number: str) -> Response:
    """Removes a dead letter from the list of open ones. Its submission stays failed."""
    return json_response(await dead_letters.discard_dead_letter(request, caller, number))
