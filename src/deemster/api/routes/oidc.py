"""`/v1/oidc`: log in at another issuer, by a browser (O6)."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from pydantic import StringConstraints
from starlette.responses import RedirectResponse, Response

from deemster.api.auth.log_in import HOUR_S, begin
from deemster.api.auth.oidc import CALLBACK, COOKIE, HOLDS_S, LogInFailed, Oidc, local_path
from deemster.api.http.json_response import faults
from deemster.api.state import AppState, app_state
from deemster.domain.errors import NotFound, Refused

router = APIRouter(tags=["accounts"])
LOGIN: Final = "/v1/oidc/login"
SEE_OTHER: Final = 303
Word = Annotated[str, StringConstraints(max_length=4096, pattern=r"^[\x20-\x7e]*$")]
"""As OAuth has it; what is longer, or no ASCII, could make a URL that no server takes."""


@router.get(
    LOGIN,
    status_code=SEE_OTHER,
    response_class=RedirectResponse,
    responses={SEE_OTHER: {"description": "To the issuer"}, **faults(404, 422, 503)},
)
async def go(
    request: Request,
    next: Annotated[Word, Query(description="A path of this site")] = "/",  # noqa: A002
) -> Response:
    """Sends a browser to the issuer; it comes back logged in, to `next`."""
    state = app_state(request)
    oidc = configured(state)
    url, cookie = await oidc.begin(local_path(next))
    response = RedirectResponse(url, SEE_OTHER)
    state.auth.cookies.write(response, cookie, keep_s=HOLDS_S, name=COOKIE)
    return response


@router.get(
    CALLBACK,
    status_code=SEE_OTHER,
    response_class=RedirectResponse,
    responses={
        SEE_OTHER: {"description": "To where it began, logged in"},
        **faults(401, 404, 422, 429, 503),
    },
)
async def come_back(
    request: Request,
    state: Word | None = None,
    code: Word | None = None,
    error: Word | None = None,
) -> Response:
    """Where the issuer sends the browser back to."""
    app = app_state(request)
    oidc = configured(app)
    try:
        errand = oidc.errand(app.auth.cookies.read(request, COOKIE), state)
        if error is not None or code is None:
            raise LogInFailed("The issuer did not let you in: begin again at /v1/oidc/login.")
        if not await app.auth.throttle.once("oidc.state", errand.state, within_s=HOLDS_S):
            raise LogInFailed("This log-in was used already: begin again at /v1/oidc/login.")
        claims = await oidc.claims(code, errand)
        account = await app.auth.provisioner.account_of(claims)
    except Refused:
        await app.auth.throttle.count_stranger(request)
        raise
    session = await begin(app, account)
    if session is None:
        raise LogInFailed("The account was disabled just now: ask an admin of this judge.")
    response = RedirectResponse(errand.next, SEE_OTHER)
    app.auth.cookies.drop(response, COOKIE)
    keep_s = app.settings.session_hours * HOUR_S
    app.auth.cookies.write(response, session.secret, keep_s=keep_s)
    return response


def configured(state: AppState) -> Oidc:
    if state.auth.oidc is None:
        raise NotFound(
            "Nobody logs in by another issuer here: the settings jwt_issuer, oidc_client_id "
            "and public_url would allow it."
        )
    return state.auth.oidc
