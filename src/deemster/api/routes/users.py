"""`/v1/admin/users`: accounts, as admins see and change them (O6)."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api.auth.passwords import check_password
from deemster.api.authentication import Caller, actor_of
from deemster.api.http.body import body_of, read
from deemster.api.http.idempotency_key import IDEMPOTENCY_KEY
from deemster.api.http.idempotent_replay import answer_once
from deemster.api.http.json_response import answer, faults
from deemster.api.http.paging import PageQuery, cut
from deemster.api.models.accounts import (
    BODY_BYTES,
    NewTokenOut,
    TokenIn,
    TokenOut,
    TokenPage,
    UserIn,
    UserOut,
    UserPage,
    UserPatch,
    user_out,
)
from deemster.api.models.submission_requests import Plain
from deemster.api.routes.tokens import list_tokens, make_token, revoke_token
from deemster.api.state import AppState, app_state
from deemster.domain.account import Role
from deemster.domain.errors import NotFound
from deemster.domain.ids import GENERATED_ID, AccountId
from deemster.store import accounts, sessions
from deemster.store.accounts import AccountUpdate, AccountView
from deemster.store.audit import record
from deemster.store.pool import Connection, connection, transaction

router = APIRouter(tags=["admin"])
PATH: Final = "/v1/admin/users"
TOKENS: Final = PATH + "/{id}/tokens"


class UserQuery(PageQuery):
    role: Role | None = None
    name: Plain | None = None
    """How it begins."""


@router.get(PATH, response_model=UserPage, responses=faults(401, 403, 422, 429, 503))
async def list_users(
    request: Request, _caller: Caller, query: Annotated[UserQuery, Query()]
) -> Response:
    """Newest first."""
    async with connection(app_state(request).pool) as acquired:
        found = await accounts.page(
            acquired,
            before=AccountId(query.place) if query.place else None,
            limit=query.limit + 1,
            role=query.role,
            prefix=query.name,
        )
    page, cursor = cut(found, query.limit, lambda view: view.id)
    return answer(UserPage(items=[user_out(view) for view in page], next_cursor=cursor))


@router.post(
    PATH,
    status_code=201,
    response_model=UserOut,
    openapi_extra={**body_of(UserIn), "parameters": [IDEMPOTENCY_KEY]},
    responses=faults(400, 401, 403, 408, 409, 413, 415, 422, 429, 503),
)
async def add_user(request: Request, caller: Caller) -> Response:
    state = app_state(request)
    asked = await read(request, UserIn, BODY_BYTES)
    hashed = await hash_of(state, asked.password)
    async with transaction(state.pool) as acquired:

        async def make() -> Response:
            account = await accounts.add(acquired, asked.name, asked.role)
            change = AccountUpdate(
                tier=asked.tier, quota_given=True, daily_quota=asked.daily_quota
            )
            await accounts.update(acquired, account.id, change)
            if hashed is not None:
                await accounts.set_password(acquired, account.id, hashed)
            told = asked.model_dump(exclude={"password"})
            await record(acquired, actor_of(request, caller), "user.add", account.id, **told)
            return answer(user_out(await seen(acquired, account.id)), 201)

        return await answer_once(request, caller, acquired, asked, make)


@router.get(PATH + "/{id}", response_model=UserOut, responses=faults(401, 403, 404, 429, 503))
async def show_user(request: Request, _caller: Caller, id: str) -> Response:  # noqa: A002
    async with connection(app_state(request).pool) as acquired:
        return answer(user_out(await seen(acquired, id)))


@router.patch(
    PATH + "/{id}",
    response_model=UserOut,
    openapi_extra=body_of(UserPatch),
    responses=faults(400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 503),
)
async def change_user(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Who is disabled loses log-ins and tokens for good; a new password ends the log-ins."""
    state = app_state(request)
    asked = await read(request, UserPatch, BODY_BYTES)
    hashed = await hash_of(state, asked.password)
    async with transaction(state.pool) as acquired:
        account = (await seen(acquired, id)).id
        ended = await accounts.update(acquired, account, asked.to_change())
        if hashed is not None:
            await accounts.set_password(acquired, account, hashed)
            ended += await sessions.end_all(acquired, account)
        await record(
            acquired, actor_of(request, caller), "user.change", account, **asked.told()
        )
        view = await seen(acquired, account)
    state.credentials.forget(ended)
    return answer(user_out(view))


@router.get(TOKENS, response_model=TokenPage, responses=faults(401, 403, 404, 422, 429, 503))
async def list_theirs(
    request: Request,
    _caller: Caller,
    id: str,  # noqa: A002
    query: Annotated[PageQuery, Query()],
) -> Response:
    """Newest first, also those that are no good any more."""
    return await list_tokens(request, await known(request, id), query)


@router.post(
    TOKENS,
    status_code=201,
    response_model=NewTokenOut,
    openapi_extra={**body_of(TokenIn), "parameters": [IDEMPOTENCY_KEY]},
    responses=faults(400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 503),
)
async def make_theirs(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """The answer shows the token, this once. It may do no more than what asks for it."""
    account = await known(request, id)
    asked = await read(request, TokenIn, BODY_BYTES)
    return await make_token(request, caller, account, asked)


@router.delete(
    TOKENS + "/{token}", response_model=TokenOut, responses=faults(401, 403, 404, 429, 503)
)
async def revoke_theirs(
    request: Request,
    caller: Caller,
    id: str,  # noqa: A002
    token: str,
) -> Response:
    return await revoke_token(request, caller, await known(request, id), token)


async def hash_of(state: AppState, password: str | None) -> str | None:
    if password is None:
        return None
    check_password(password)
    async with state.auth.passwords.turn():
        return await state.auth.passwords.hash(password)


async def known(request: Request, account: str) -> AccountId:
    async with connection(app_state(request).pool) as acquired:
        return (await seen(acquired, account)).id


async def seen(acquired: Connection, account: str) -> AccountView:
    view = None
    if GENERATED_ID.fullmatch(account):
        view = await accounts.get(acquired, AccountId(account))
    if view is None:
        raise NotFound(f"There is no such account: see GET {PATH}.")
    return view
