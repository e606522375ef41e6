"""Lists, creates and revokes tokens, for routes and pages (O6)."""

from starlette.requests import Request

from deemster.api.app_state import AppState, app_state
from deemster.api.authentication import actor_of
from deemster.api.http.errors import Forbidden
from deemster.api.http.paging import PageQuery, cut
from deemster.api.models.accounts import (
    NewTokenOut,
    TokenIn,
    TokenOut,
    TokenPage,
    new_token_out,
    token_out,
)
from deemster.domain.account import DEFAULT_SCOPES, Account, Role, Scope
from deemster.domain.errors import NotFound
from deemster.domain.ids import GENERATED_ID, AccountId, TokenId
from deemster.store import accounts, audit
from deemster.store.audit import Actor
from deemster.store.pool import Connection, connection, transaction


async def list_tokens(state: AppState, account: AccountId, query: PageQuery) -> TokenPage:
    """Newest first, including expired and revoked ones."""
    before = TokenId(query.last_id) if query.last_id else None
    async with connection(state.pool) as acquired:
        limit = query.limit + 1
        found = await accounts.token_page(acquired, account, before=before, limit=limit)
    page, cursor = cut(found, query.limit, lambda view: view.id)
    return TokenPage(items=[token_out(view) for view in page], next_cursor=cursor)


def with_scopes(caller: Account, role: Role, asked: TokenIn) -> TokenIn:
    """The same token with the scopes that it gets, if the caller may give them."""
    scopes = frozenset(asked.scopes or DEFAULT_SCOPES[role] & caller.scopes)
    if not scopes:
        raise Forbidden(
            "Neither the request nor your token has a scope that this account may use: set "
            "`scopes`."
        )
    check_scopes(caller, scopes)
    return asked.model_copy(update={"scopes": sorted(scopes)})


async def create_token(
    acquired: Connection, actor: Actor, account: AccountId, asked: TokenIn
) -> NewTokenOut:
    """`asked` has the scopes of `with_scopes`."""
    scopes = frozenset(asked.scopes or ())
    created = await accounts.create_token(
        acquired, account, asked.name, days=asked.expires_in_days, scopes=scopes
    )
    await audit.record(
        acquired,
        actor,
        "token.make",
        created.view.id,
        account=account,
        name=asked.name,
        scopes=sorted(scopes),
    )
    return new_token_out(created.view, created.secret)


async def give_token(
    request: Request, caller: Account, account: AccountId, role: Role, asked: TokenIn
) -> NewTokenOut:
    """In a transaction of its own."""
    allowed = with_scopes(caller, role, asked)
    async with transaction(app_state(request).pool) as acquired:
        return await create_token(acquired, actor_of(request, caller), account, allowed)


async def revoke_token(
    request: Request, caller: Account, account: AccountId, token: str
) -> TokenOut:
    """Revoking it again changes nothing."""
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
    return token_out(revoked.view)


def check_scopes(caller: Account, wanted: frozenset[Scope]) -> None:
    missing = wanted - caller.scopes
    if missing:
        raise Forbidden(
            f"The token or log-in of this request lacks {', '.join(sorted(missing))}, so the "
            "new token can't have it."
        )
