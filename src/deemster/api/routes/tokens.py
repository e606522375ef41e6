"""`/v1/tokens` and `/v1/admin/users/{id}/tokens`: tokens of the caller and of others (O6)."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api.app_state import app_state
from deemster.api.authentication import Caller, actor_of
from deemster.api.http.body import json_response, read_json, request_body
from deemster.api.http.errors import errors
from deemster.api.http.idempotent_replay import IDEMPOTENCY_KEY, respond_once
from deemster.api.http.paging import PageQuery
from deemster.api.lookups import known_account
from deemster.api.models.accounts import BODY_BYTES, NewTokenOut, TokenIn, TokenOut, TokenPage
from deemster.api.tokens import create_token, list_tokens, revoke_token, with_scopes
from deemster.domain.account import Account, Role
from deemster.domain.ids import AccountId
from deemster.store.pool import connection, transaction

router = APIRouter(tags=["accounts"])
admin_router = APIRouter(tags=["admin"])
PATH: Final = "/v1/tokens"
USER_PATH: Final = "/v1/admin/users/{id}/tokens"


@router.get(PATH, response_model=TokenPage, responses=errors(422))
async def list_own_tokens(
    request: Request, caller: Caller, query: Annotated[PageQuery, Query()]
) -> Response:
    """Lists your tokens, newest first, including expired and revoked ones."""
    return await list_response(request, caller.id, query)


@router.post(
    PATH,
    status_code=201,
    response_model=NewTokenOut,
    openapi_extra={**request_body(TokenIn), **IDEMPOTENCY_KEY},
    responses=errors(400, 408, 409, 413, 415, 422),
)
async def create_own_token(request: Request, caller: Caller) -> Response:
    """Creates a token. Only this response shows it. It can't have more scopes than the token or
    log-in of the request.
    """
    asked = await read_json(request, TokenIn, BODY_BYTES)
    return await create_once(request, caller, caller.id, caller.role, asked)


@router.delete(PATH + "/{id}", response_model=TokenOut, responses=errors(404))
async def revoke_own_token(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Revokes a token at once. Revoking it again changes nothing."""
    return json_response(await revoke_token(request, caller, caller.id, id))


@admin_router.get(USER_PATH, response_model=TokenPage, responses=errors(404, 422))
async def list_user_tokens(
    request: Request,
    _caller: Caller,
    id: str,  # noqa: A002
    query: Annotated[PageQuery, Query()],
) -> Response:
    """Lists the tokens of an account, newest first, including expired and revoked ones."""
    return await list_response(request, await account_of(request, id), query)


@admin_router.post(
    USER_PATH,
    status_code=201,
    response_model=NewTokenOut,
    openapi_extra={**request_body(TokenIn), **IDEMPOTENCY_KEY},
    responses=errors(400, 404, 408, 409, 413, 415, 422),
)
async def create_user_token(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Creates a token for an account. Only this response shows it. It can't have more scopes
    than the token or log-in of the request.
    """
    asked = await read_json(request, TokenIn, BODY_BYTES)
    async with connection(app_state(request).pool) as acquired:
        account = await known_account(acquired, id)
    return await create_once(request, caller, account.id, account.role, asked)


@admin_router.delete(USER_PATH + "/{token}", response_model=TokenOut, responses=errors(404))
async def revoke_user_token(
    request: Request,
    caller: Caller,
    id: str,  # noqa: A002
    token: str,
) -> Response:
    """Revokes a token of an account at once. Revoking it again changes nothing."""
    account = await account_of(request, id)
    return json_response(await revoke_token(request, caller, account, token))


async def list_response(request: Request, account: AccountId, query: PageQuery) -> Response:
    return json_response(await list_tokens(app_state(request), account, query))


async def create_once(
    request: Request, caller: Account, account: AccountId, role: Role, asked: TokenIn
) -> Response:
    # Part of the request's digest: the same key from a token with fewer scopes does not get the
    # stored response, which shows a token with more.
    asked = with_scopes(caller, role, asked)
    async with transaction(app_state(request).pool) as acquired:

        async def create() -> Response:
            actor = actor_of(request, caller)
            return json_response(await create_token(acquired, actor, account, asked), 201)

        return await respond_once(request, caller, acquired, asked, create)


async def account_of(request: Request, account: str) -> AccountId:
    async with connection(app_state(request).pool) as acquired:
        return (await known_account(acquired, account)).id
