"""`/v1/oidc`: log in with a browser at an OpenID Connect issuer (O6)."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import RedirectResponse, Response

from deemster.api.app_state import AppState, app_state
from deemster.api.auth.log_in import begin_session, session_seconds
from deemster.api.auth.oidc import (
    CALLBACK,
    COOKIE,
    PENDING_S,
    LogInFailed,
    Oidc,
    check_local_path,
)
from deemster.api.http.errors import errors
from deemster.domain.errors import NotFound, Refused
from deemster.pattern_messages import text_form

router = APIRouter(tags=["accounts"])
LOGIN: Final = "/v1/oidc/login"
SEE_OTHER: Final = 303
Parameter = Annotated[
    str, text_form(r"^[\x20-\x7e]*$", "use printable ASCII characters", max_length=4096)
]
"""OAuth parameters are ASCII; longer ones could make a URL that no server accepts."""


@router.get(
    LOGIN,
    status_code=SEE_OTHER,
    response_class=RedirectResponse,
    responses={
        SEE_OTHER: {"description": "Redirect to the issuer"},
        **errors(404, 422, 503),
    },
)
async def begin_oidc_log_in(
    request: Request,
    next: Annotated[Parameter, Query(description="Path on this site.")] = "/",  # noqa: A002
) -> Response:
    """Redirects the browser to the issuer. After the log-in, the browser returns to `next`."""
    app = app_state(request)
    oidc = configured_oidc(app)
    url, cookie = await oidc.begin(check_local_path(next))
    response = RedirectResponse(url, SEE_OTHER)
    app.auth.cookies.write(response, cookie, keep_s=PENDING_S, name=COOKIE)
    return response


@router.get(
    CALLBACK,
    status_code=SEE_OTHER,
    response_class=RedirectResponse,
    responses={
        SEE_OTHER: {"description": "Redirect to the page where the log-in began"},
        **errors(401, 404, 422, 429, 503),
    },
)
async def finish_oidc_log_in(
    request: Request,
    state: Parameter | None = None,
    code: Parameter | None = None,
    error: Parameter | None = None,
) -> Response:
    """The issuer redirects the browser here."""
    app = app_state(request)
    oidc = configured_oidc(app)
    try:
        pending = oidc.pending_log_in(app.auth.cookies.read(request, COOKIE), state)
        if error is not None or code is None:
            raise LogInFailed("The issuer refused the log-in: begin again at /v1/oidc/login.")
        if not await app.auth.throttle.is_first_use(
            "oidc.state", pending.state, within_s=PENDING_S
        ):
            raise LogInFailed("This log-in was already used: begin again at /v1/oidc/login.")
        claims = await oidc.claims(code, pending)
        account = await app.auth.provisioner.account_of(claims)
    except Refused:
        await app.auth.throttle.count_unknown_credentials(request)
        raise
    session = await begin_session(app, account)
    if session is None:
        raise LogInFailed("The account was just disabled: ask an admin of this judge.")
    response = RedirectResponse(pending.next, SEE_OTHER)
    app.auth.cookies.drop(response, COOKIE)
    app.auth.cookies.write(response, session.secret, keep_s=session_seconds(app))
    return response


def configured_oidc(app: AppState) -> Oidc:
    if app.auth.oidc is None:
        raise NotFound(
            "Log-in by OpenID Connect is not configured: it needs the settings jwt_issuer, "
            "oidc_client_id and public_url."
        )
    return app.auth.oidc
