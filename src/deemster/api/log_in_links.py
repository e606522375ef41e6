"""One-time log-in links: whom they log in, and the log-in itself, for routes and pages (K4)."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from deemster.api.app_state import AppState, app_state
from deemster.api.auth.log_in import session_seconds
from deemster.api.http.errors import Unauthorised
from deemster.domain.account import Account
from deemster.store import log_in_links, sessions
from deemster.store.pool import connection, transaction
from deemster.store.sessions import NewSession

PAGE: Final = log_in_links.PATH + "/{code}"
UNUSABLE: Final = (
    "This link was used before, or has expired: ask the person who gave it to you for another."
)


async def owner_of_link(request: Request, code: str) -> Account | None:
    """Uses nothing up. Returns None if the link was used, has expired, or never existed."""
    state = app_state(request)
    async with connection(state.pool) as acquired:
        account = await log_in_links.find_account(acquired, code)
    if account is None:
        await state.auth.throttle.count_unknown_credentials(request)
    return account


def judge_url(request: Request) -> str:
    """The URL by which people reach this judge: of the settings, or as the request has it."""
    return app_state(request).settings.public_url or str(request.base_url)


async def use_link(request: Request, code: str) -> tuple[Account, NewSession]:
    state = app_state(request)
    async with transaction(state.pool) as acquired:
        account = await log_in_links.use(acquired, code)
        session = None
        if account is not None:
            session = await sessions.begin(acquired, account.id, keep_s=session_seconds(state))
    if account is None or session is None:
        await state.auth.throttle.count_unknown_credentials(request)
        raise Unauthorised(UNUSABLE)
    return account, session


def write_cookie(state: AppState, response: Response, session: NewSession) -> None:
    state.auth.cookies.write(response, session.secret, keep_s=session_seconds(state))
