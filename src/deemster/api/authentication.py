"""Who asks, and whether they may: before anything else of a request is looked at."""

from typing import Annotated, Final

import structlog
from fastapi import Security
from fastapi.openapi.models import HTTPBearer as HTTPBearerModel
from fastapi.security.base import SecurityBase
from starlette.requests import Request

from deemster.api.auth.jwt_auth import looks_like_jwt
from deemster.api.http.errors import Unauthorised, request_id_of
from deemster.api.permissions import check, need_of
from deemster.api.state import AppState, app_state
from deemster.domain.account import Account, Role, Scope
from deemster.domain.ids import AccountId
from deemster.store.accounts import token_digest
from deemster.store.audit import Actor

REMEMBERED: Final = frozenset({Scope.READ, Scope.SUBMIT, Scope.METRICS})
"""For the rest nobody is let in from memory: who was shut out elsewhere a moment ago could make
a token or an admin in that moment, and stay.
"""


class Bearer(SecurityBase):
    """Named in the OpenAPI document, so that its page can log in."""

    def __init__(self) -> None:
        self.model = HTTPBearerModel(description="`deemster user token NAME` makes a token.")
        self.scheme_name = "token"

    async def __call__(self, request: Request) -> Account:
        need = need_of(request.method, request.scope["route"].path)
        assert need is not None, "a route for anyone does not ask who it is"
        account = await identify(request, afresh=need.scope not in REMEMBERED)
        structlog.contextvars.bind_contextvars(userId=account.id)
        app_state(request).admission.count_request(account)
        check(account, need)
        return account


async def identify(request: Request, *, afresh: bool = False) -> Account:
    """By the header, if there is one; else by the cookie of a log-in."""
    state = app_state(request)
    header = request.headers.get("authorization")
    if header is not None:
        return await by_token(request, state, header, afresh=afresh)
    digest = session_of(request)
    if digest is None:
        raise Unauthorised("Send your token in the header Authorization: Bearer ….")
    if afresh:
        state.credentials.forget([digest])
    account = await state.credentials.of_session(digest)
    if account is None:
        await state.auth.throttle.count_stranger(request)
        raise Unauthorised("Your log-in is over: log in again.")
    state.auth.cookies.check_meant(request, digest)
    return account


async def by_token(request: Request, state: AppState, header: str, *, afresh: bool) -> Account:
    scheme, _, token = header.partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token:
        raise Unauthorised("Send your token in the header Authorization: Bearer ….")
    if state.auth.jwt is not None and looks_like_jwt(token):
        try:
            return await state.auth.jwt.account(token, afresh=afresh)
        except Unauthorised:
            await state.auth.throttle.count_stranger(request)
            raise
    digest = token_digest(token)
    if afresh:
        state.credentials.forget([digest])
    account = await state.credentials.of_token(digest)
    if account is None:
        await state.auth.throttle.count_stranger(request)
        raise Unauthorised(
            "This token is not known, has expired or was revoked: get a new one."
        )
    return account


def session_of(request: Request) -> bytes | None:
    """The log-in by which a request comes; None: it comes by a token, or by nothing."""
    if "authorization" in request.headers:
        return None
    cookie = app_state(request).auth.cookies.read(request)
    return token_digest(cookie) if cookie else None


BEARER: Final = Bearer()
SECURED: Final = {"security": [{BEARER.scheme_name: list[str]()}]}
"""For the OpenAPI document, where a route asks for its caller by itself."""
Caller = Annotated[Account, Security(BEARER)]


def may_see(caller: Account, owner: AccountId) -> bool:
    return caller.id == owner or caller.role is Role.ADMIN


def actor_of(request: Request, caller: Account) -> Actor:
    """For the audit log."""
    return Actor(caller.name, caller.id, request_id_of(request))
