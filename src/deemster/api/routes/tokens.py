"""`/v1/tokens`: one's own tokens, for programs (O6)."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api.authentication import Caller, actor_of
from deemster.api.http.body import body_of, read
from deemster.api.http.errors import Forbidden
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
    new_token_out,
    token_out,
)
from deemster.api.state import app_state
from deemster.domain.account import Account, Scope
from deemster.domain.errors import NotFound
from deemster.domain.ids import GENERATED_ID, AccountId, TokenId
from deemster.store import accounts
from deemster.store.audit import record
from deemster.store.pool import connection, transaction

router = APIRouter(tags=["accounts"])
PATH: Final = "/v1/tokens"


@router.get(PATH, response_model=TokenPage, responses=faults(401, 403, 422, 429, 503))
async def list_own(
    request: Request, caller: Caller, query: Annotated[PageQuery, Query()]
) -> Response:
    """Newest first, also those that are no good any more."""
    return await list_tokens(request, caller.id, query)


@router.post(
    PATH,
    status_code=201,
    response_model=NewTokenOut,
    openapi_extra={**body_of(TokenIn), "parameters": [IDEMPOTENCY_KEY]},
    responses=faults(400, 401, 403, 408, 409, 413, 415, 422, 429, 503),
)
async def make_own(request: Request, caller: Caller) -> Response:
    """The answer shows the token, this once. It may do no more than what asks for it."""
    asked = await read(request, TokenIn, BODY_BYTES)
    return await make_token(request, caller, caller.id, asked)


@router.delete(
    PATH + "/{id}", response_model=TokenOut, responses=faults(401, 403, 404, 429, 503)
)
async def revoke_own(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """It is no good any more, at once. Revoking it again changes nothing."""
    return await revoke_token(request, caller, caller.id, id)


async def list_tokens(request: Request, account: AccountId, query: PageQuery) -> Response:
    before = TokenId(query.place) if query.place else None
    async with connection(app_state(request).pool) as acquired:
        found = await accounts.token_page(
            acquired, account, before=before, limit=query.limit + 1
        )
    page, cursor = cut(found, query.limit, lambda view: view.id)
    return answer(TokenPage(items=[token_out(view) for view in page], next_cursor=cursor))


async def make_token(
    request: Request, caller: Account, account: AccountId, asked: TokenIn
) -> Response:
    scopes = frozenset(asked.scopes) if asked.scopes is not None else caller.scopes
    check_scopes(caller, scopes)
    # Said in full: a smaller token with the same key is not shown what a larger one made.
    asked = asked.model_copy(update={"scopes": sorted(scopes)})
    async with transaction(app_state(request).pool) as acquired:

        async def make() -> Response:
            made = await accounts.create_token(
                acquired, account, asked.name, days=asked.expires_in_days, scopes=scopes
            )
            await record(
                acquired,
                actor_of(request, caller),
                "token.make",
                made.view.id,
                account=account,
                name=asked.name,
                scopes=sorted(scopes),
            )
            return answer(new_token_out(made.view, made.secret), 201)

        return await answer_once(request, caller, acquired, asked, make)


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
            await record(acquired, actor, "token.revoke", token, account=account)
    state.credentials.forget([revoked.digest])
    return answer(token_out(revoked.view))


def check_scopes(caller: Account, wanted: frozenset[Scope]) -> None:
    more = wanted - caller.scopes
    if more:
        raise Forbidden(
            f"What you came with lacks {', '.join(sorted(more))}, so it makes none with that."
        )
