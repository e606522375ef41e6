"""A request for a page: who asks, what was sent, and how the answer is rendered."""

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar
from urllib.parse import parse_qs, quote, urlencode
from zoneinfo import ZoneInfo

import structlog
from markupsafe import Markup
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from deemster.api.app_state import AppState, app_state
from deemster.api.authentication import CACHED_SCOPES, authenticate_session, session_of
from deemster.api.http.body import read_body
from deemster.api.http.direct_route import DirectRoute
from deemster.api.http.errors import Unauthorised, WrongMedia, kind_of, request_id_of
from deemster.api.permissions import (
    Permission,
    check_permission,
    is_permitted,
    permission_of,
)
from deemster.domain.account import Account
from deemster.domain.errors import DeemsterError, Refused
from deemster.metrics import REFUSED
from deemster.web.error_texts import explain
from deemster.web.forms import parse_fields
from deemster.web.language import PageLanguage, language_of
from deemster.web.rendering import environment
from deemster.web.time_zone import is_time_zone_known, time_zone_of

FORM: Final = "application/x-www-form-urlencoded"
M = TypeVar("M", bound=BaseModel)

CSRF_FIELD: Final = "csrf_token"
MAX_FIELDS: Final = 200
LOG_IN: Final = "/login"
CURRENT: Final = Markup(' aria-current="page"')
DONE: Final = "done"
"""Field of the query that says what a form did."""
YEAR_S: Final = 365 * 24 * 3600
"""How long a browser keeps what a visitor chose."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    request: Request
    state: AppState
    caller: Account | None
    """None: nobody is logged in, and the page needs nobody."""
    csrf_token: str
    language: PageLanguage
    form: Mapping[str, str] = field(default_factory=dict)
    nonce: str = field(default_factory=lambda: secrets.token_urlsafe(16))

    @property
    def account(self) -> Account:
        """For pages that need somebody."""
        assert self.caller is not None, "the permissions table says that anybody may see it"
        return self.caller

    @property
    def time_zone(self) -> ZoneInfo:
        return time_zone_of(self.request)

    @property
    def is_time_zone_known(self) -> bool:
        return is_time_zone_known(self.request)

    def may(self, path: str, method: str = "GET") -> bool:
        """Whether the permissions table lets the visitor open a page."""
        need = permission_of(method, path)
        if not isinstance(need, Permission):
            return need is None
        return self.caller is not None and is_permitted(self.caller, need)

    def parameter(self, name: str) -> str:
        """A part of the path."""
        return str(self.request.path_params[name])

    def query(self, model: type[M]) -> M:
        """What stands behind the ? of the address; the model refuses unknown names."""
        given = self.request.query_params
        return parse_fields(model, **{name: given[name] for name in given if name != DONE})

    @property
    def done(self) -> str:
        """What the form did that led here."""
        return self.request.query_params.get(DONE, "")

    def query_without(self, *left_out: str) -> str:
        """The other fields of the query, for links to the next page: `&name=value…`."""
        kept = [
            (name, value)
            for name, value in self.request.query_params.multi_items()
            if name not in left_out and value
        ]
        return f"&{urlencode(kept)}" if kept else ""

    def language_name(self, language: str) -> str:
        """The name of a programming language for people; an old one may be gone by now."""
        catalogue = self.state.dependencies.catalogue
        return catalogue.named(language).name if language in catalogue else language

    def gettext(self, text: str) -> str:
        return self.language.translations.gettext(text)

    def render(
        self, template: str, /, *, error: DeemsterError | None = None, **context: Any
    ) -> Response:
        """A form that was refused is shown again with the error, which gives the status."""
        body = (
            environment(self.language.code)
            .get_template(template)
            .render(
                page=self,
                caller=self.caller,
                csrf_token=self.csrf_token,
                settings=self.state.settings,
                current=self.current,
                error=explain(error, self.language) if error is not None else None,
                **context,
            )
        )
        status = kind_of(type(error)).status if error is not None else 200
        return HTMLResponse(body, status, page_headers(self.nonce))

    def current(self, path: str) -> Markup:
        """Marks the link of the navigation that leads here."""
        here = self.request.url.path
        is_here = here == path or here.startswith(f"{path}/")
        return CURRENT if is_here else Markup()

    def redirect(self, path: str) -> Response:
        """After a form: the browser gets the new page, and reloading it sends nothing again."""
        return RedirectResponse(path, 303)


Endpoint = Callable[[PageRequest], Awaitable[Response]]


def page_route(
    path: str, endpoint: Endpoint, method: str = "GET", *, is_upload: bool = False
) -> DirectRoute:
    """The route of a page; the permissions table says who may see it.

    The endpoint of an upload reads the form itself, and checks its CSRF token.
    """

    async def handle(request: Request) -> Response:
        page = PageRequest(request, app_state(request), None, "", language_of(request))
        try:
            page = await open_page(request, permission_of(method, path), is_upload=is_upload)
            return await endpoint(page)
        except Unauthorised:
            return ask_to_log_in(request)
        except DeemsterError as error:
            REFUSED.labels(error.code).inc()
            return error_page(page, error)

    return DirectRoute(path, handle, methods=[method])


async def open_page(request: Request, need: object, *, is_upload: bool = False) -> PageRequest:
    """Checks who asks, and that another site did not send the form (O6)."""
    state = app_state(request)
    digest = session_of(request)
    caller, token = None, ""
    if digest is not None:
        # As for the API: a log-in that ended elsewhere must not change anything any more.
        fresh = isinstance(need, Permission) and need.scope not in CACHED_SCOPES
        caller = await session_account(request, digest, fresh=fresh)
        token = state.auth.cookies.masked_csrf_token(digest) if caller is not None else ""
    if isinstance(need, Permission):
        if caller is None:
            raise Unauthorised("Log in first.")
        check_permission(caller, need)
    if caller is not None:
        structlog.contextvars.bind_contextvars(userId=caller.id)
        state.admission.count_request(caller)
    form: Mapping[str, str] = {}
    if request.method == "POST":
        state.auth.cookies.check_origin(request)
        form = {} if is_upload else await read_form(request)
        if not is_upload and caller is not None and digest is not None:
            state.auth.cookies.check_csrf_token(form.get(CSRF_FIELD, ""), digest)
    return PageRequest(request, state, caller, token, language_of(request), form)


async def session_account(request: Request, digest: bytes, *, fresh: bool) -> Account | None:
    """None if the log-in has expired: the page may need nobody."""
    try:
        return await authenticate_session(request, digest, fresh=fresh)
    except Unauthorised:
        return None


async def read_form(request: Request) -> Mapping[str, str]:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != FORM:
        raise WrongMedia(f"Send the form as {FORM}.")
    body = await read_body(request)
    try:
        fields = parse_qs(
            body.decode(), keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict"
        )
    except ValueError:
        raise Refused("The form is not valid UTF-8, or has too many fields.") from None
    return {name: values[-1] for name, values in fields.items()}


def error_page(page: PageRequest, error: DeemsterError) -> Response:
    kind = kind_of(type(error))
    response = page.render(
        "error.html",
        error=error,
        title=kind.title,
        request_id=request_id_of(page.request),
    )
    response.headers.update(
        {name: value for name, value in kind.headers.items() if name == "Retry-After"}
    )
    return response


def ask_to_log_in(request: Request) -> Response:
    """A script would put the log-in page into the part that it updates: htmx opens it."""
    path = log_in_path(request)
    if request.headers.get("HX-Request"):
        return Response(status_code=401, headers={"HX-Redirect": path})
    return RedirectResponse(path, 303)


def log_in_path(request: Request) -> str:
    """A form can't be sent again after the log-in, so only pages are named."""
    if request.method != "GET":
        return LOG_IN
    target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return f"{LOG_IN}?next={quote(target, safe='/')}"


def page_headers(nonce: str) -> dict[str, str]:
    """Scripts and styles come from this server only, and none stand in a page. Scripts with
    the nonce may add styles: editor and terminal do.
    """
    policy = (
        f"default-src 'none'; script-src 'self' 'nonce-{nonce}'; "
        f"style-src 'self' 'nonce-{nonce}'; "
        "img-src 'self' data:; font-src 'self'; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    )
    # Without any referrer, browsers would hide the origin of forms from this site as well.
    return {"Content-Security-Policy": policy, "Referrer-Policy": "same-origin"}
