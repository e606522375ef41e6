"""`/v1/tokens` and `/v1/admin/users/{id}/tokens`: tokens of the caller and of others (O6)."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api.authentication import Caller, actor_of
from deemster.api.http.body import json_response, read_json, request_body
from deemster.api.http.errors import Forbidden, errors
from deemster.api.http.idempotent_replay import IDEMPOTENCY_KEY, respond_once
from deemster.api.http.paging import PageQuery, cut
from deemster.api.lookups import known_account
from deemster.api.models.accounts import (
    BODY_BYTES,
    NewTokenOut,
    TokenIn,
    TokenOut,
    TokenPage,
    new_token_out,
    token_out,
)
from deemster.api.state import app_state
from deemster.domain.account import DEFAULT_SCOPES, Account, Role, Scope
from deemster.domain.errors import NotFound
from deemster.domain.ids import GENERATED_ID, AccountId, TokenId
from deemster.store import accounts, audit
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
    return await list_tokens(request, caller.id, query)


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
    return await create_token(request, caller, caller.id, caller.role, asked)


@router.delete(PATH + "/{id}", response_model=TokenOut, responses=errors(404))
async def revoke_own_token(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Revokes a token at once. Revoking it again changes nothing."""
    return await revoke_token(request, caller, caller.id, id)


@admin_router.get(USER_PATH, response_model=TokenPage, responses=errors(404, 422))
async def list_user_tokens(
    request: Request,
    _caller: Caller,
    id: str,  # noqa: A002
    query: Annotated[PageQuery, Query()],
) -> Response:
    """Lists the tokens of an account, newest first, including expired and revoked ones."""
    return await list_tokens(request, await account_of(request, id), query)


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
    return await create_token(request, caller, account.id, account.role, asked)


@admin_router.delete(USER_PATH + "/{token}", response_model=TokenOut, responses=errors(404))
async def revoke_user_token(
    request: Request,
    caller: Caller,
    id: str,  # noqa: A002
    token: str,
) -> Response:
    """Revokes a token of an account at once. Revoking it again changes nothing."""
    return await revoke_token(request, caller, await account_of(request, id), token)


async def list_tokens(request: Request, account: AccountId, query: PageQuery) -> Response:
    before = TokenId(query.last_id) if query.last_id else None
    async with connection(app_state(request).pool) as acquired:
        limit = query.limit + 1
        found = await accounts.token_page(acquired, account, before=before, limit=limit)
    page, cursor = cut(found, query.limit, lambda view: view.id)
    items = [token_out(view) for view in page]
    return json_response(TokenPage(items=items, next_cursor=cursor))


async def create_token(
    request: Request, caller: Account, account: AccountId, role: Role, asked: TokenIn
) -> Response:
    scopes = frozenset(asked.scopes or DEFAULT_SCOPES[role] & caller.scopes)
    if not scopes:
        raise Forbidden("The request has no scope that the account can use: name the scopes.")
    check_scopes(caller, scopes)
    # Part of the request's digest: the same key from a token with fewer scopes does not get the
    # stored response, which shows a token with more.
    asked = asked.model_copy(update={"scopes": sorted(scopes)})
    async with transaction(app_state(request).pool) as acquired:

        async def create() -> Response:
            created = await accounts.create_token(
                acquired, account, asked.name, days=asked.expires_in_days, scopes=scopes
            )
            await audit.record(
                acquired,
                actor_of(request, caller),
                "token.make",
                created.view.id,
                account=account,
                name=asked.name,
                scopes=sorted(scopes),
            )
            return json_response(new_token_out(created.view, created.secret), 201)

        return await respond_once(request, caller, acquired, asked, create)


async def revoke_token(
    request: Request, caller: Account, account: AccountId, token: str
) -> Response:
    state = app_state(request)
    async with transaction(state.pool) as acquired:
        revoked = None
        if GENERATED_ID.fullmatch(token):
            revoked = await accounts.revoke_token(acquired, TokenId(token), account=account)
        if revoked is None:
            raise NotFound("There is no such token: see the list of tokens.")
        if revoked.was_valid:
            actor = actor_of(request, caller)
            await audit.record(acquired, actor, "token.revoke", token, account=account)
    state.credentials.forget([revoked.digest])
    return json_response(token_out(revoked.view))


async def account_of(request: Request, account: str) -> AccountId:
    async with connection(app_state(request).pool) as acquired:
        return (await known_account(acquired, account)).id


def check_scopes(caller: Account, wanted: frozenset[Scope]) -> None:
    missing = wanted - caller.scopes
    if missing:
        raise Forbidden(
            f"The token or log-in of this request lacks {', '.join(sorted(missing))}, so the "
            "new token can't have it."
        )
