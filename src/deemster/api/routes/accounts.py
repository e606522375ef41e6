"""`/v1/accounts` and `/v1/account/password`: sign up, and change the own password (O6)."""

from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import Response

from deemster.api.accounts import change_own_password, create_account, remember_device
from deemster.api.app_state import app_state
from deemster.api.authentication import Caller
from deemster.api.http.body import json_response, read_json, request_body
from deemster.api.http.errors import errors
from deemster.api.models.accounts import BODY_BYTES, MeOut, PasswordChange, SignUp, me_out
from deemster.domain.errors import NotFound

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
    asked = await read_json(request, PasswordChange, BODY_BYTES)
    password = await change_own_password(request, caller, asked)
    response = json_response(me_out(caller))
    remember_device(request, response, caller, password)
    return response
