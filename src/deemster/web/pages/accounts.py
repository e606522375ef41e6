"""`/login`, `/logout`, `/signup`: a visitor logs in, or gets an account."""

from typing import Final

from starlette.responses import Response

from deemster.api.accounts import create_account
from deemster.api.auth.log_in import LoggedIn, log_in, session_seconds
from deemster.api.authentication import session_of
from deemster.api.models.accounts import LogIn, SignUp
from deemster.api.session import close_session
from deemster.domain.errors import NotFound
from deemster.web.forms import SHOWN, parse_fields
from deemster.web.language import COOKIE, LANGUAGES
from deemster.web.page import LOG_IN, YEAR_S, PageRequest, page_route

HOME: Final = "/problems"
SIGN_UP: Final = "/signup"


async def show_log_in(page: PageRequest) -> Response:
    if page.caller is not None:
        return page.redirect(next_of(page))
    return page.render("login.html", next=next_of(page), name="")


async def log_in_by_form(page: PageRequest) -> Response:
    name = page.form.get("name", "")
    try:
        asked = parse_fields(LogIn, name=name, password=page.form.get("password", ""))
        logged_in = await log_in(page.request, asked.name, asked.password)
    except SHOWN as refusal:
        return page.render("login.html", next=next_of(page), name=name, error=refusal)
    return with_session(page, logged_in, page.redirect(next_of(page)))


async def log_out(page: PageRequest) -> Response:
    digest = session_of(page.request)
    assert digest is not None, "only sessions have pages"
    await close_session(page.state, digest)
    response = page.redirect(LOG_IN)
    page.state.auth.cookies.drop(response)
    return response


async def show_sign_up(page: PageRequest) -> Response:
    check_sign_up(page)
    return page.render("signup.html", name="")


async def sign_up(page: PageRequest) -> Response:
    check_sign_up(page)
    name, password = page.form.get("name", ""), page.form.get("password", "")
    try:
        asked = parse_fields(SignUp, name=name, password=password)
        await create_account(page.request, asked)
        logged_in = await log_in(page.request, name, password)
    except SHOWN as refusal:
        return page.render("signup.html", name=name, error=refusal)
    return with_session(page, logged_in, page.redirect(HOME))


async def choose_language(page: PageRequest) -> Response:
    chosen = page.form.get("language", "")
    response = page.redirect(next_of(page))
    if chosen in LANGUAGES:
        response.set_cookie(COOKIE, chosen, max_age=YEAR_S, samesite="lax", httponly=True)
    return response


def check_sign_up(page: PageRequest) -> None:
    if not page.state.settings.sign_up:
        raise NotFound("This judge does not allow sign-up: ask an admin for an account.")


def with_session(page: PageRequest, logged_in: LoggedIn, response: Response) -> Response:
    auth = page.state.auth
    auth.cookies.write(response, logged_in.session.secret, keep_s=session_seconds(page.state))
    auth.devices.remember(response, logged_in.account.name, logged_in.password_hash)
    return response


def next_of(page: PageRequest) -> str:
    """The page that was asked for before the log-in; never an address of another site."""
    given = page.form.get("next") or page.request.query_params.get("next") or HOME
    is_local = given.startswith("/") and not given.startswith("//")
    # A browser takes a backslash for a slash, and leaves out control characters.
    return given if is_local and "\\" not in given and given.isprintable() else HOME


ROUTES: Final = [
    page_route(LOG_IN, show_log_in),
    page_route(LOG_IN, log_in_by_form, "POST"),
    page_route("/logout", log_out, "POST"),
    page_route(SIGN_UP, show_sign_up),
    page_route(SIGN_UP, sign_up, "POST"),
    page_route("/language", choose_language, "POST"),
]
