"""`/v1/session/link`: logs in with the code of a one-time link (K4, O6)."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from deemster.api.app_state import app_state
from deemster.api.http.body import json_response, read_json, request_body
from deemster.api.http.errors import errors
from deemster.api.log_in_links import use_link, write_cookie
from deemster.api.models.accounts import BODY_BYTES, SessionOut
from deemster.api.models.user_import import LinkLogIn
from deemster.api.session import session_out

router = APIRouter(tags=["accounts"])


@router.post(
    "/v1/session/link",
    status_code=201,
    response_model=SessionOut,
    openapi_extra=request_body(LinkLogIn),
    responses=errors(400, 401, 403, 408, 413, 415, 422, 429),
)
async def create_session_by_link(request: Request) -> Response:
    """Logs in with the code of a one-time link, as `POST /v1/session` does with a password."""
    state = app_state(request)
    state.auth.cookies.check_origin(request)
    asked = await read_json(request, LinkLogIn, BODY_BYTES)
    account, session = await use_link(request, asked.code)
    response = json_response(session_out(state, account, session), 201)
    write_cookie(state, response, session)
    return response
