"""`/v1/accounts` and `/v1/account/password`: one's own account (O6)."""

from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import Response

from deemster.api.auth.log_in import check_own
from deemster.api.auth.passwords import check_password
from deemster.api.authentication import Caller, actor_of, session_of
from deemster.api.http.body import body_of, read
from deemster.api.http.errors import Forbidden, request_id_of
from deemster.api.http.json_response import answer, faults
from deemster.api.models.accounts import BODY_BYTES, MeOut, PasswordChange, SignUp, me_out
from deemster.api.state import app_state
from deemster.domain.account import ALL_SCOPES, Role
from deemster.domain.errors import NotFound
from deemster.store import accounts, sessions
from deemster.store.audit import Actor, record
from deemster.store.pool import connection, transaction

router = APIRouter(tags=["accounts"])
SIGN_UP: Final = "/v1/accounts"
PASSWORD: Final = "/v1/account/password"  # noqa: S105 - a path


@router.post(
    SIGN_UP,
    status_code=201,
    response_model=MeOut,
    openapi_extra=body_of(SignUp),
    responses=faults(400, 403, 404, 408, 409, 413, 415, 422, 429, 503),
)
async def sign_up(request: Request) -> Response:
    """Makes an account of one's own, where that is allowed; then log in."""
    state = app_state(request)
    if not state.settings.sign_up:
        raise NotFound("People don't make their own accounts here: ask an admin for one.")
    state.auth.cookies.check_origin(request)
    asked = await read(request, SignUp, BODY_BYTES)
    check_password(asked.password)
    await state.auth.throttle.sign_up(request)
    async with state.auth.passwords.turn():
        hashed = await state.auth.passwords.hash(asked.password)
    async with transaction(state.pool) as acquired:
        account = await accounts.add(acquired, asked.name, Role.USER)
        await accounts.set_password(acquired, account.id, hashed)
        actor = Actor(account.name, account.id, request_id_of(request))
        await record(acquired, actor, "user.sign_up", account.id)
    return answer(me_out(account), 201)


@router.put(
    PASSWORD,
    response_model=MeOut,
    openapi_extra=body_of(PasswordChange),
    responses=faults(400, 401, 403, 408, 409, 413, 415, 422, 429, 503),
)
async def change_password(request: Request, caller: Caller) -> Response:
    """All other log-ins of the account end; tokens stay."""
    state = app_state(request)
    asked = await read(request, PasswordChange, BODY_BYTES)
    check_password(asked.password)
    async with connection(state.pool) as acquired:
        known = await accounts.credentials_by_id(acquired, caller.id)
    assert known is not None, "rows of accounts are never deleted"
    if known.password is None and caller.scopes != ALL_SCOPES:
        # By a password one may do all: a token that may do less must not get there.
        raise Forbidden("A first password is set by a token with all scopes, or by a log-in.")
    # Looked at twice, as at the door: who may not change it now holds no place in the line.
    device = state.auth.devices.known(request, known.account.name, known.password)
    await state.auth.throttle.check_guess(request, known.account.name, device)
    async with state.auth.passwords.turn():
        if known.password is not None:
            await check_own(request, known, asked.current_password)
        hashed = await state.auth.passwords.hash(asked.password)
    async with transaction(state.pool) as acquired:
        old = known.password
        await accounts.replace_password(acquired, caller.id, old=old, password=hashed)
        ended = await sessions.end_all(acquired, caller.id, except_digest=session_of(request))
        await record(acquired, actor_of(request, caller), "user.password", caller.id)
    state.credentials.forget(ended)
    response = answer(me_out(caller))
    if session_of(request) is not None:
        # What the browser had went with the old password.
        state.auth.devices.remember(response, caller.name, hashed)
    return response
