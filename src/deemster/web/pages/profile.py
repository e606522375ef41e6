"""`/account`: what the visitor has done, the password, the tokens, and how pages look."""

from typing import Final

from starlette.responses import Response

from deemster.api.accounts import (
    change_own_password,
    end_other_log_ins,
    has_password,
    remember_device,
)
from deemster.api.http.paging import PageQuery
from deemster.api.models.accounts import NewTokenOut, PasswordChange, TokenIn
from deemster.api.session import read_profile
from deemster.api.tokens import give_token, list_tokens, revoke_token
from deemster.domain.account import DEFAULT_SCOPES, Scope
from deemster.domain.errors import DeemsterError
from deemster.web import language, time_zone
from deemster.web.forms import SHOWN, parse_fields
from deemster.web.page import YEAR_S, PageRequest, page_route

ACCOUNT: Final = "/account"
TOKENS: Final = ACCOUNT + "/tokens"


async def show_account(page: PageRequest) -> Response:
    return await account_page(page)


async def account_page(page: PageRequest, error: DeemsterError | None = None) -> Response:
    return page.render(
        "account.html",
        profile=await read_profile(page.state, page.account),
        has_password=await has_password(page.state, page.account),
        time_zones=time_zone.time_zones(),
        done=page.request.query_params.get("done", ""),
        error=error,
    )


async def change_password(page: PageRequest) -> Response:
    try:
        asked = parse_fields(
            PasswordChange,
            current_password=page.form.get("current_password", ""),
            password=page.form.get("password", ""),
        )
        password = await change_own_password(page.request, page.account, asked)
    except SHOWN as refusal:
        return await account_page(page, refusal)
    response = page.redirect(f"{ACCOUNT}?done=password")
    remember_device(page.request, response, page.account, password)
    return response


async def log_out_others(page: PageRequest) -> Response:
    await end_other_log_ins(page.request, page.account)
    return page.redirect(f"{ACCOUNT}?done=logged-out")


async def change_display(page: PageRequest) -> Response:
    """Kept in the browser, where the choices of another device would surprise."""
    response = page.redirect(f"{ACCOUNT}?done=display")
    chosen = {
        language.COOKIE: (page.form.get("language"), language.LANGUAGES),
        time_zone.COOKIE: (page.form.get("time_zone"), time_zone.time_zones()),
    }
    for cookie, (value, known) in chosen.items():
        if value is not None and value in known:
            response.set_cookie(cookie, value, max_age=YEAR_S, samesite="lax", httponly=True)
    return response


async def show_tokens(page: PageRequest) -> Response:
    return await token_page(page)


async def token_page(
    page: PageRequest, created: NewTokenOut | None = None, error: DeemsterError | None = None
) -> Response:
    query = parse_fields(PageQuery, cursor=page.request.query_params.get("cursor"))
    return page.render(
        "tokens.html",
        found=await list_tokens(page.state, page.account.id, query),
        created=created,
        scopes=[each for each in Scope if each in DEFAULT_SCOPES[page.account.role]],
        form=page.form,
        error=error,
    )


async def create_own_token(page: PageRequest) -> Response:
    """The page shows the token once; nothing is stored that could show it again."""
    try:
        asked, caller = token_of_form(page), page.account
        created = await give_token(page.request, caller, caller.id, caller.role, asked)
    except SHOWN as refusal:
        return await token_page(page, error=refusal)
    return await token_page(page, created)


def token_of_form(page: PageRequest) -> TokenIn:
    return parse_fields(
        TokenIn,
        name=page.form.get("name", ""),
        scopes=[each for each in Scope if f"scope_{each}" in page.form] or None,
        expires_in_days=page.form.get("expires_in_days", ""),
    )


async def revoke_own_token(page: PageRequest) -> Response:
    token = page.request.path_params["id"]
    await revoke_token(page.request, page.account, page.account.id, token)
    return page.redirect(TOKENS)


ROUTES: Final = [
    page_route(ACCOUNT, show_account),
    page_route(ACCOUNT + "/password", change_password, "POST"),
    page_route(ACCOUNT + "/display", change_display, "POST"),
    page_route(ACCOUNT + "/log-out-others", log_out_others, "POST"),
    page_route(TOKENS, show_tokens),
    page_route(TOKENS, create_own_token, "POST"),
    page_route(TOKENS + "/{id}/revoke", revoke_own_token, "POST"),
]
