"""`/log-in/{code}`: a one-time link asks for a click, then logs its owner in (K4, O6)."""

from html import escape
from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from deemster.api.auth.log_in import session_seconds
from deemster.api.http.body import json_response, read_json, request_body
from deemster.api.http.errors import Unauthorised, errors
from deemster.api.models.accounts import BODY_BYTES, SessionOut
from deemster.api.models.user_import import LinkLogIn
from deemster.api.session import session_out
from deemster.api.state import AppState, app_state
from deemster.domain.account import Account
from deemster.store import log_in_links, sessions
from deemster.store.log_in_links import PATH
from deemster.store.pool import connection, transaction
from deemster.store.sessions import NewSession

router = APIRouter(tags=["accounts"])
SEE_OTHER: Final = 303
UNUSABLE: Final = (
    "This link was used before, or has expired: ask the person who gave it to you for another."
)
PAGE_POLICY: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
}
# Without the meta element, browsers would send `Origin: null` with the form.
PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="same-origin">
<title>Log in</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 1.1rem/1.5 system-ui, sans-serif; max-width: 32rem;
       margin: 15vh auto; padding: 0 1rem; }}
button {{ font: inherit; padding: 0.5rem 1.5rem; }}
</style>
</head>
<body>
<h1>Log in</h1>
{content}
</body>
</html>
"""
FORM: Final = """<p>This link logs you in as <strong>{name}</strong>. It works once.</p>
<form method="post"><button type="submit" autofocus>Log in</button></form>"""


@router.get(PATH + "/{code}", include_in_schema=False)
async def show_link(request: Request, code: str) -> Response:
    """Changes nothing, because mail programs open links to look at them."""
    state = app_state(request)
    async with connection(state.pool) as acquired:
        account = await log_in_links.find_account(acquired, code)
    if account is None:
        await state.auth.throttle.count_unknown_credentials(request)
        return page(f"<p>{UNUSABLE}</p>", 404)
    return page(FORM.format(name=escape(account.name)))


@router.post(PATH + "/{code}", include_in_schema=False)
async def follow_link(request: Request, code: str) -> Response:
    state = app_state(request)
    state.auth.cookies.check_origin(request)
    try:
        _account, session = await use_link(request, code)
    except Unauthorised:
        return page(f"<p>{UNUSABLE}</p>", 404)
    response = RedirectResponse("/", SEE_OTHER)
    write_cookie(state, response, session)
    return response


@router.post(
    "/v1/session/link",
    status_code=201,
    response_model=SessionOut,
    openapi_extra=request_body(LinkLogIn),
    responses=errors(400, 401, 403, 408, 413, 415, 422, 429),
)
async def create_session_by_link(request: Request) -> Response:
    """Logs in with the code of a one-time link, as `POST /v1/session` does with a password."""
    state = app_state(request)
    state.auth.cookies.check_origin(request)
    asked = await read_json(request, LinkLogIn, BODY_BYTES)
    account, session = await use_link(request, asked.code)
    response = json_response(session_out(state, account, session), 201)
    write_cookie(state, response, session)
    return response


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


def page(content: str, status: int = 200) -> Response:
    return HTMLResponse(PAGE.format(content=content), status, PAGE_POLICY)
