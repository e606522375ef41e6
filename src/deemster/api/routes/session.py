"""`/v1/session`: log in with a password, show the caller, log out (O6)."""

from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import Response

from deemster.api.app_state import app_state
from deemster.api.auth.log_in import log_in, session_seconds
from deemster.api.authentication import Caller, session_of
from deemster.api.http.body import json_response, read_json, request_body
from deemster.api.http.errors import errors
from deemster.api.models.accounts import (
    BODY_BYTES,
    LogIn,
    MeOut,
    SessionOut,
    me_out,
)
from deemster.api.session import close_session, read_profile, session_out
from deemster.domain.errors import Conflict

router = APIRouter(tags=["accounts"])
PATH: Final = "/v1/session"


@router.post(
    PATH,
    status_code=201,
    response_model=SessionOut,
    openapi_extra=request_body(LogIn),
    responses=errors(400, 401, 403, 408, 413, 415, 422, 429, 503),
)
async def create_session(request: Request) -> Response:
    """Logs in and sets a session cookie. Requests that change something need csrf_token too."""
    state = app_state(request)
    state.auth.cookies.check_origin(request)
    asked = await read_json(request, LogIn, BODY_BYTES)
    logged_in = await log_in(request, asked.name, asked.password)
    account, session = logged_in.account, logged_in.session
    response = json_response(session_out(state, account, session), 201)
    state.auth.cookies.write(response, session.secret, keep_s=session_seconds(state))
    state.auth.devices.remember(response, account.name, logged_in.password_hash)
    return response


@router.get(PATH, response_model=SessionOut)
async def show_session(request: Request, caller: Caller) -> Response:
    """Shows your account, the scopes of this request, your results, and your quota of today."""
    state = app_state(request)
    profile = await read_profile(state, caller)
    found = SessionOut(user=me_out(caller), scopes=sorted(caller.scopes), profile=profile)
    if caller.token is not None:
        found.token_id = caller.token
    digest = session_of(request)
    if digest is None:
        return json_response(found)
    found.csrf_token = state.auth.cookies.csrf_token(digest)
    response = json_response(found)
    # Each use extends the session, so the cookie must last longer too.
    cookie = state.auth.cookies.read(request)
    assert cookie is not None, "session_of has just read it"
    state.auth.cookies.write(response, cookie, keep_s=session_seconds(state))
    return response


@router.delete(PATH, response_model=MeOut, responses=errors(409))
async def end_session(request: Request, caller: Caller) -> Response:
    """Logs out."""
    state = app_state(request)
    digest = session_of(request)
    if digest is None:
        raise Conflict("The request used a token: DELETE /v1/tokens/{id} revokes it.")
    await close_session(state, digest)
    response = json_response(me_out(caller))
    state.auth.cookies.drop(response)
    return response
