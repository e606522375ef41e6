"""`/v1/accounts` and `/v1/account/password`: sign up, and change the own password (O6)."""

from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import Response

from deemster.api.accounts import create_account
from deemster.api.auth.log_in import check_current_password
from deemster.api.auth.passwords import check_password
from deemster.api.authentication import Caller, actor_of, session_of
from deemster.api.http.body import json_response, read_json, request_body
from deemster.api.http.errors import Forbidden, errors
from deemster.api.models.accounts import BODY_BYTES, MeOut, PasswordChange, SignUp, me_out
from deemster.api.state import app_state
from deemster.domain.account import ALL_SCOPES
from deemster.domain.errors import NotFound
from deemster.store import accounts, audit, sessions
from deemster.store.pool import connection, transaction

router = APIRouter(tags=["accounts"])
SIGN_UP: Final = "/v1/accounts"
PASSWORD: Final = "/v1/account/password"  # noqa: S105 - a path


@router.post(
    SIGN_UP,
    status_code=201,
    response_model=MeOut,
    openapi_extra=request_body(SignUp),
    responses=errors(400, 403, 404, 408, 409, 413, 415, 422, 429, 503),
)
async def sign_up(request: Request) -> Response:
    """Creates an account, if the setting `sign_up` allows it. Log in with POST /v1/session."""
    state = app_state(request)
    if not state.settings.sign_up:
        raise NotFound("This judge does not allow sign-up: ask an admin for an account.")
    state.auth.cookies.check_origin(request)
    asked = await read_json(request, SignUp, BODY_BYTES)
    account = await create_account(request, asked)
    return json_response(me_out(account), 201)


@router.put(
    PASSWORD,
    response_model=MeOut,
    openapi_extra=request_body(PasswordChange),
    responses=errors(400, 408, 409, 413, 415, 422),
)
async def change_password(request: Request, caller: Caller) -> Response:
    """Changes your password. All other log-ins of the account end; tokens stay valid."""
    state = app_state(request)
    asked = await read_json(request, PasswordChange, BODY_BYTES)
    check_password(asked.password)
    async with connection(state.pool) as acquired:
        known = await accounts.credentials_by_id(acquired, caller.id)
    assert known is not None, "rows of accounts are never deleted"
    if known.password is None and caller.scopes != ALL_SCOPES:
        # A password gives all scopes: a token with fewer must not set one.
        raise Forbidden("To set a first password, use a token with all scopes, or log in.")
    # Checked again within the turn: a caller who is over the limit must not wait for one.
    device = state.auth.devices.identify(request, known.account.name, known.password)
    await state.auth.throttle.check_guess(request, known.account.name, device)
    async with state.auth.passwords.turn():
        if known.password is not None:
            await check_current_password(request, known, asked.current_password)
        password = await state.auth.passwords.hash(asked.password)
    async with transaction(state.pool) as acquired:
        old = known.password
        await accounts.replace_password(acquired, caller.id, old=old, password=password)
        ended = await sessions.end_all(acquired, caller.id, except_digest=session_of(request))
        await audit.record(acquired, actor_of(request, caller), "user.password", caller.id)
    state.credentials.forget(ended)
    response = json_response(me_out(caller))
    if session_of(request) is not None:
        # The browser's device cookie was bound to the old password.
        state.auth.devices.remember(response, caller.name, password)
    return response
