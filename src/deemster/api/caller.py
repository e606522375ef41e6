"""Who asks, and whether they may: before anything else of a request is looked at."""

from typing import Annotated, Final

import structlog
from fastapi import Security
from fastapi.openapi.models import HTTPBearer as HTTPBearerModel
from fastapi.security.base import SecurityBase
from starlette.requests import Request

from deemster.api.desk import desk_of
from deemster.api.faults import Unauthorised, request_id_of
from deemster.api.permissions import check, need_of
from deemster.domain.account import Account, Role
from deemster.domain.ids import AccountId
from deemster.store.audit import Actor


class Bearer(SecurityBase):
    """Named in the OpenAPI document, so that its page can log in."""

    def __init__(self) -> None:
        self.model = HTTPBearerModel(description="`deemster user token NAME` makes a token.")
        self.scheme_name = "token"

    async def __call__(self, request: Request) -> Account:
        need = need_of(request.method, request.scope["route"].path)
        assert need is not None, "a route for anyone does not ask who it is"
        account = await identify(request)
        structlog.contextvars.bind_contextvars(userId=account.id)
        check(account, need)
        return account


async def identify(request: Request) -> Account:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token:
        raise Unauthorised("Send your token in the header Authorization: Bearer ….")
    return await desk_of(request).guard.account(token)


BEARER: Final = Bearer()
SECURED: Final = {"security": [{BEARER.scheme_name: list[str]()}]}
"""For the OpenAPI document, where a route asks for its caller by itself."""
Caller = Annotated[Account, Security(BEARER)]


def may_see(caller: Account, owner: AccountId) -> bool:
    return caller.id == owner or caller.role is Role.ADMIN


def actor_of(request: Request, caller: Account) -> Actor:
    """For the audit log."""
    return Actor(caller.name, caller.id, request_id_of(request))
