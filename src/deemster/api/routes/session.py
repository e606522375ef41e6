"""`/v1/session`: log in by a password, see who one is, log out (O6)."""

from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import Response

from deemster.api.auth.log_in import HOUR_S, log_in
from deemster.api.authentication import Caller, session_of
from deemster.api.http.body import body_of, read
from deemster.api.http.json_response import answer, faults
from deemster.api.models.accounts import BODY_BYTES, LogIn, MeOut, SessionOut, me_out
from deemster.api.profile import profile_of
from deemster.api.state import app_state
from deemster.domain.account import ALL_SCOPES
from deemster.domain.errors import Conflict
from deemster.store import sessions
from deemster.store.pool import connection

router = APIRouter(tags=["accounts"])
PATH: Final = "/v1/session"


@router.post(
    PATH,
    status_code=201,
    response_model=SessionOut,
    openapi_extra=body_of(LogIn),
    responses=faults(400, 401, 403, 408, 413, 415, 422, 429, 503),
)
async def enter(request: Request) -> Response:
    """Logs in: the cookie is the log-in, and csrf_token goes with what it changes."""
    state = app_state(request)
    state.auth.cookies.check_origin(request)
    asked = await read(request, LogIn, BODY_BYTES)
    entered = await log_in(request, asked.name, asked.password)
    account, session = entered.account, entered.session
    told = SessionOut(
        user=me_out(account),
        scopes=sorted(ALL_SCOPES),
        csrf_token=state.auth.cookies.csrf_token(session.digest),
        expires_at=session.expires_at,
    )
    response = answer(told, 201)
    keep_s = state.settings.session_hours * HOUR_S
    state.auth.cookies.write(response, session.secret, keep_s=keep_s)
    state.auth.devices.remember(response, account.name, entered.hashed)
    return response


@router.get(PATH, response_model=SessionOut, responses=faults(401, 403, 429, 503))
async def who(request: Request, caller: Caller) -> Response:
    """Who asks, and by what; what they did, and how many they may hand in today."""
    state = app_state(request)
    profile = await profile_of(state, caller)
    told = SessionOut(user=me_out(caller), scopes=sorted(caller.scopes), profile=profile)
    if caller.token is not None:
        told.token_id = caller.token
    digest = session_of(request)
    if digest is None:
        return answer(told)
    told.csrf_token = state.auth.cookies.csrf_token(digest)
    response = answer(told)
    # The log-in holds longer with each use, and the cookie is to hold as long as that.
    cookie = state.auth.cookies.read(request)
    assert cookie is not None, "there was a log-in just now"
    keep_s = state.settings.session_hours * HOUR_S
    state.auth.cookies.write(response, cookie, keep_s=keep_s)
    return response


@router.delete(PATH, response_model=MeOut, responses=faults(401, 403, 409, 429, 503))
async def leave(request: Request, caller: Caller) -> Response:
    """Logs out."""
    state = app_state(request)
    digest = session_of(request)
    if digest is None:
        raise Conflict("You came by a token: DELETE /v1/tokens/{id} revokes it.")
    async with connection(state.pool) as acquired:
        await sessions.end(acquired, digest)
    state.credentials.forget([digest])
    response = answer(me_out(caller))
    state.auth.cookies.drop(response)
    return response
