"""`/v1/admin/users`: list, create and change accounts, for admins (O6)."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api import users
from deemster.api.app_state import app_state
from deemster.api.authentication import Caller, actor_of
from deemster.api.http.body import json_response, read_json, request_body
from deemster.api.http.errors import errors
from deemster.api.http.idempotent_replay import IDEMPOTENCY_KEY, respond_once
from deemster.api.models.accounts import (
    BODY_BYTES,
    UserIn,
    UserOut,
    UserPage,
    UserPatch,
    UserQuery,
)
from deemster.store.pool import transaction

router = APIRouter(tags=["admin"])
PATH: Final = "/v1/admin/users"


@router.get(PATH, response_model=UserPage, responses=errors(422))
async def list_users(
    request: Request, _caller: Caller, query: Annotated[UserQuery, Query()]
) -> Response:
    """Lists accounts, newest first."""
    return json_response(await users.list_users(app_state(request), query))


@router.post(
    PATH,
    status_code=201,
    response_model=UserOut,
    openapi_extra={**request_body(UserIn), **IDEMPOTENCY_KEY},
    responses=errors(400, 408, 409, 413, 415, 422),
)
async def create_user(request: Request, caller: Caller) -> Response:
    """Creates an account."""
    state = app_state(request)
    asked = await read_json(request, UserIn, BODY_BYTES)
    password = await users.hash_password(state, asked.password)
    async with transaction(state.pool) as acquired:

        async def create() -> Response:
            actor = actor_of(request, caller)
            created = await users.create_user(acquired, actor, asked, password)
            return json_response(created, 201)

        return await respond_once(request, caller, acquired, asked, create)


@router.get(PATH + "/{id}", response_model=UserOut, responses=errors(404))
async def show_user(request: Request, _caller: Caller, id: str) -> Response:  # noqa: A002
    """Shows an account."""
    return json_response(await users.show_user(app_state(request), id))


@router.patch(
    PATH + "/{id}",
    response_model=UserOut,
    openapi_extra=request_body(UserPatch),
    responses=errors(400, 404, 408, 409, 413, 415, 422),
)
async def change_user(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Changes an account. Disabling it ends its log-ins and revokes its tokens for good; a new
    password ends its log-ins.
    """
    asked = await read_json(request, UserPatch, BODY_BYTES)
    return json_response(await users.change_user(request, caller, id, asked))
