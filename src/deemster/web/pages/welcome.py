"""`/log-in/{code}` and `/welcome`: the first visit of somebody who got a one-time link (K4)."""

from typing import Final

from starlette.responses import Response

from deemster.api.accounts import change_own_password, has_password, remember_device
from deemster.api.http.errors import Unauthorised
from deemster.api.log_in_links import PAGE, UNUSABLE, owner_of_link, use_link, write_cookie
from deemster.api.models.accounts import PasswordChange
from deemster.api.models.problems import ProblemPage, ProblemQuery
from deemster.api.problems import cached_page
from deemster.domain.errors import DeemsterError, NotFound
from deemster.web.forms import SHOWN, parse_fields
from deemster.web.page import PageRequest, page_route

WELCOME: Final = "/welcome"
FIRST_PROBLEM: Final = "prob_aplusb"
"""The sample that is solved with one line."""
PROBLEMS_SHOWN: Final = 12


async def show_link(page: PageRequest) -> Response:
    """Changes nothing, because mail programs open links to look at them."""
    owner = await owner_of_link(page.request, page.request.path_params["code"])
    if owner is None:
        raise NotFound(UNUSABLE)
    return page.render("link.html", owner=owner)


async def follow_link(page: PageRequest) -> Response:
    try:
        account, session = await use_link(page.request, page.request.path_params["code"])
    except Unauthorised:
        raise NotFound(UNUSABLE) from None
    is_new = not await has_password(page.state, account)
    response = page.redirect(WELCOME if is_new else "/")
    write_cookie(page.state, response, session)
    return response


async def show_welcome(page: PageRequest) -> Response:
    return await welcome_page(page)


async def set_first_password(page: PageRequest) -> Response:
    """Somebody who has a password changes it on the page of the account."""
    if await has_password(page.state, page.account):
        return page.redirect("/account")
    try:
        asked = parse_fields(PasswordChange, password=page.form.get("password", ""))
        password = await change_own_password(page.request, page.account, asked)
    except SHOWN as refusal:
        return await welcome_page(page, refusal)
    response = page.redirect(WELCOME)
    remember_device(page.request, response, page.account, password)
    return response


async def welcome_page(page: PageRequest, error: DeemsterError | None = None) -> Response:
    query = ProblemQuery(limit=50, mine=True)
    entry = await cached_page(page.state, page.account, query)
    assert entry.body is not None, "a list may be empty, but there is one"
    problems = ProblemPage.model_validate_json(entry.body).items
    first = next((each for each in problems if each.id == FIRST_PROBLEM), None)
    return page.render(
        "welcome.html",
        has_password=await has_password(page.state, page.account),
        problems=problems[:PROBLEMS_SHOWN],
        first=first or next(iter(problems), None),
        error=error,
    )


ROUTES: Final = [
    page_route(PAGE, show_link),
    page_route(PAGE, follow_link, "POST"),
    page_route(WELCOME, show_welcome),
    page_route(WELCOME, set_first_password, "POST"),
]
