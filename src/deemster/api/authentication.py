"""Finds the account of a request and checks its permission, before the body is read."""

from typing import Annotated, Final

import structlog
from fastapi import Security
from fastapi.openapi.models import HTTPBearer as HTTPBearerModel
from fastapi.security.base import SecurityBase
from starlette.requests import HTTPConnection, Request

from deemster.api.app_state import AppState, app_state
from deemster.api.auth.jwt_auth import is_jwt
from deemster.api.http.errors import Unauthorised, request_id_of
from deemster.api.permissions import Permission, check_permission, permission_of
from deemster.domain.account import Account, Scope
from deemster.domain.errors import Refused, Unavailable
from deemster.store.accounts import token_digest
from deemster.store.audit import Actor

CACHED_SCOPES: Final = frozenset({Scope.READ, Scope.SUBMIT, Scope.METRICS})
"""Other scopes never use cached credentials: with a token that another process revoked a moment
ago, a caller could create a new token or an admin, and keep access.
"""


NO_CREDENTIALS: Final = (
    "Send your token in the header Authorization: Bearer …. The page /account/tokens and "
    "`deemster user token NAME` create one."
)


class Bearer(SecurityBase):
    """The OpenAPI document names it, so that the page /docs can send a token."""

    def __init__(self) -> None:
        self.model = HTTPBearerModel(
            description="A token. `deemster user token NAME` creates one."
        )
        self.scheme_name = "token"

    async def __call__(self, request: Request) -> Account:
        permission = permission_of(request.method, request.scope["route"].path)
        assert isinstance(permission, Permission), "the route does not need an account"
        account = await authenticate(request, fresh=permission.scope not in CACHED_SCOPES)
        structlog.contextvars.bind_contextvars(userId=account.id)
        app_state(request).admission.count_request(account)
        check_permission(account, permission)
        return account


async def authenticate(request: HTTPConnection, *, fresh: bool = False) -> Account:
    """Uses the token in the header, if there is one; else the cookie of a log-in.

    With `fresh`, the credentials are read from the database, not from the cache.
    """
    state = app_state(request)
    header = request.headers.get("authorization")
    if header is not None:
        return await account_of_token(request, state, header, fresh=fresh)
    digest = session_of(request)
    if digest is None:
        raise Unauthorised(NO_CREDENTIALS)
    account = await authenticate_session(request, digest, fresh=fresh)
    state.auth.cookies.check_csrf(request, digest)
    return account


async def authenticate_session(
    request: HTTPConnection, digest: bytes, *, fresh: bool = False
) -> Account:
    """Does not check that the request comes from a page of this site."""
    state = app_state(request)
    if fresh:
        state.credentials.forget([digest])
    account = await state.credentials.of_session(digest)
    if account is None:
        await state.auth.throttle.count_unknown_credentials(request)
        raise Unauthorised("Your log-in has expired: log in again.")
    return account


async def account_of_token(
    request: HTTPConnection, state: AppState, header: str, *, fresh: bool
) -> Account:
    scheme, _, token = header.partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token:
        raise Unauthorised(NO_CREDENTIALS)
    if state.auth.jwt is not None and is_jwt(token):
        try:
            return await state.auth.jwt.account(token, fresh=fresh)
        except Unauthorised:
            await state.auth.throttle.count_unknown_credentials(request)
            raise
    digest = token_digest(token)
    if fresh:
        state.credentials.forget([digest])
    account = await state.credentials.of_token(digest)
    if account is None:
        await state.auth.throttle.count_unknown_credentials(request)
        raise Unauthorised(
            "This token is unknown, has expired or was revoked: create a new one."
        )
    return account


async def is_still_authorised(request: HTTPConnection, caller: Account) -> bool:
    """Whether a long response may go on: meanwhile the token may be revoked, or the account
    disabled or no longer an admin.
    """
    try:
        current = await authenticate(request)
    except Unavailable:
        return True
    except Refused:
        return False
    return (current.id, current.role, current.scopes) == (
        caller.id,
        caller.role,
        caller.scopes,
    )


def session_of(request: HTTPConnection) -> bytes | None:
    """Digest of the session cookie; None if the request has a token, or no credentials."""
    if "authorization" in request.headers:
        return None
    cookie = app_state(request).auth.cookies.read(request)
    return token_digest(cookie) if cookie else None


BEARER: Final = Bearer()
SECURED: Final = {"security": [{BEARER.scheme_name: list[str]()}]}
"""Documents a route that authenticates its caller itself."""
Caller = Annotated[Account, Security(BEARER)]


def actor_of(request: HTTPConnection, caller: Account) -> Actor:
    """The caller, as the audit log names it."""
    return Actor(caller.name, caller.id, request_id_of(request))
