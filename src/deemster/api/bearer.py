"""Who asks: the account behind the request's bearer token, and what its role allows."""

from typing import Annotated, Final

import structlog
from fastapi import Security
from fastapi.openapi.models import HTTPBearer as HTTPBearerModel
from fastapi.security.base import SecurityBase
from starlette.requests import Request

from deemster.api.desk import desk_of
from deemster.api.faults import Forbidden, Unauthorised
from deemster.domain.ids import AccountId
from deemster.store.accounts import Account, Role


class Bearer(SecurityBase):
    """Named in the OpenAPI document, so that its page can log in."""

    def __init__(self) -> None:
        self.model = HTTPBearerModel(description="`deemster user token NAME` makes a token.")
        self.scheme_name = "token"

    async def __call__(self, request: Request) -> Account:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            raise Unauthorised("Send your token in the header Authorization: Bearer ….")
        account = await desk_of(request).guard.account(token)
        structlog.contextvars.bind_contextvars(userId=account.id)
        return account


BEARER: Final = Bearer()
SECURED: Final = {"security": [{BEARER.scheme_name: list[str]()}]}
"""For the OpenAPI document, where a route asks for its caller by itself."""
Caller = Annotated[Account, Security(BEARER)]


def require_admin(caller: Account) -> None:
    if caller.role is not Role.ADMIN:
        raise Forbidden("Only an admin may do this.")


def may_see(caller: Account, owner: AccountId) -> bool:
    return caller.id == owner or caller.role is Role.ADMIN
