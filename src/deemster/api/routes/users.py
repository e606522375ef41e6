"""`/v1/admin/users`: list, create and change accounts, for admins (O6)."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api.auth.passwords import check_password
from deemster.api.authentication import Caller, actor_of
from deemster.api.http.body import json_response, read_json, request_body
from deemster.api.http.errors import errors
from deemster.api.http.idempotent_replay import IDEMPOTENCY_KEY, respond_once
from deemster.api.http.paging import cut
from deemster.api.lookups import known_account
from deemster.api.models.accounts import (
    BODY_BYTES,
    UserIn,
    UserOut,
    UserPage,
    UserPatch,
    UserQuery,
    user_out,
)
from deemster.api.state import AppState, app_state
from deemster.domain.ids import AccountId
from deemster.store import accounts, audit, sessions
from deemster.store.accounts import AccountUpdate
from deemster.store.pool import connection, transaction

router = APIRouter(tags=["admin"])
PATH: Final = "/v1/admin/users"


@router.get(PATH, response_model=UserPage, responses=errors(422))
async def list_users(
    request: Request, _caller: Caller, query: Annotated[UserQuery, Query()]
) -> Response:
    """Lists accounts, newest first."""
    async with connection(app_state(request).pool) as acquired:
        found = await accounts.page(
            acquired,
            before=AccountId(query.last_id) if query.last_id else None,
            limit=query.limit + 1,
            role=query.role,
            prefix=query.name,
        )
    page, cursor = cut(found, query.limit, lambda view: view.id)
    return json_response(UserPage(items=[user_out(view) for view in page], next_cursor=cursor))


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
    password = await hash_password(state, asked.password)
    async with transaction(state.pool) as acquired:

        async def create() -> Response:
            account = await accounts.add(acquired, asked.name, asked.role)
            update = AccountUpdate(
                tier=asked.tier, quota_given=True, daily_quota=asked.daily_quota
            )
            await accounts.update(acquired, account.id, update)
            if password is not None:
                await accounts.set_password(acquired, account.id, password)
            details = asked.model_dump(exclude={"password"})
            actor = actor_of(request, caller)
            await audit.record(acquired, actor, "user.add", account.id, **details)
            return json_response(user_out(await known_account(acquired, account.id)), 201)

        return await respond_once(request, caller, acquired, asked, create)


@router.get(PATH + "/{id}", response_model=UserOut, responses=errors(404))
async def show_user(request: Request, _caller: Caller, id: str) -> Response:  # noqa: A002
    """Shows an account."""
    async with connection(app_state(request).pool) as acquired:
        return json_response(user_out(await known_account(acquired, id)))


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
    state = app_state(request)
    asked = await read_json(request, UserPatch, BODY_BYTES)
    password = await hash_password(state, asked.password)
    async with transaction(state.pool) as acquired:
        account = (await known_account(acquired, id)).id
        ended = await accounts.update(acquired, account, asked.to_update())
        if password is not None:
            await accounts.set_password(acquired, account, password)
            ended += await sessions.end_all(acquired, account)
        actor = actor_of(request, caller)
        await audit.record(acquired, actor, "user.change", account, **asked.audit_details())
        view = await known_account(acquired, account)
    state.credentials.forget(ended)
    return json_response(user_out(view))


async def hash_password(state: AppState, password: str | None) -> str | None:
    if password is None:
        return None
    check_password(password)
    async with state.auth.passwords.turn():
        return await state.auth.passwords.hash(password)
