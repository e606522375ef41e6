"""`/admin/users`: accounts, their roles, passwords, one-time links and tokens (O6)."""

from typing import Any, Final

from starlette.responses import Response

from deemster.api.http.paging import PageQuery
from deemster.api.log_in_links import judge_url
from deemster.api.models.accounts import NewTokenOut, UserIn, UserPatch, UserQuery
from deemster.api.tokens import give_token, list_tokens, revoke_token
from deemster.api.user_import.log_ins import LINK_DAYS
from deemster.api.users import add_user, change_user, list_users, make_link, show_user
from deemster.domain.account import DEFAULT_SCOPES, Role, Scope
from deemster.domain.errors import DeemsterError
from deemster.domain.ids import AccountId
from deemster.store.log_in_links import link_url
from deemster.web.forms import SHOWN, parse_fields
from deemster.web.page import PageRequest, page_route
from deemster.web.pages.profile import token_of_form

USERS: Final = "/admin/users"
USER: Final = USERS + "/{id}"
TOKENS: Final = USER + "/tokens"


async def show_users(page: PageRequest) -> Response:
    return await user_list(page)


async def user_list(page: PageRequest, error: DeemsterError | None = None) -> Response:
    query = UserQuery() if page.form else page.query(UserQuery)
    return page.render(
        "admin/users.html",
        found=await list_users(page.state, query),
        query=query,
        roles=list(Role),
        form=page.form,
        error=error,
    )


async def create_user(page: PageRequest) -> Response:
    try:
        asked = parse_fields(
            UserIn, **{name: page.form.get(name, "") for name in ("name", "role", "password")}
        )
        created = await add_user(page.request, page.account, asked)
    except SHOWN as refusal:
        return await user_list(page, refusal)
    return page.redirect(f"{USERS}/{created.id}?done=created")


async def show_one(page: PageRequest) -> Response:
    return await user_page(page)


async def user_page(
    page: PageRequest,
    *,
    error: DeemsterError | None = None,
    created: NewTokenOut | None = None,
    link: str | None = None,
) -> Response:
    user = await show_user(page.state, page.parameter("id"))
    query = PageQuery() if page.form else page.query(PageQuery)
    return page.render(
        "admin/user.html",
        user=user,
        found=await list_tokens(page.state, AccountId(user.id), query),
        created=created,
        link=link,
        link_days=LINK_DAYS,
        roles=list(Role),
        scopes=[each for each in Scope if each in DEFAULT_SCOPES[user.role]],
        form=page.form,
        error=error,
    )


async def change(page: PageRequest) -> Response:
    user = page.parameter("id")
    try:
        asked = parse_patch(page)
        await change_user(page.request, page.account, user, asked)
    except SHOWN as refusal:
        return await user_page(page, error=refusal)
    return page.redirect(f"{USERS}/{user}?done=changed")


def parse_patch(page: PageRequest) -> UserPatch:
    """An empty quota restores the default; an empty password changes nothing."""
    fields: dict[str, Any] = {
        name: page.form[name] for name in ("role", "password") if page.form.get(name)
    }
    asked = parse_fields(
        UserPatch,
        **fields,
        tier=1 if "tier" in page.form else 0,
        daily_quota=page.form.get("daily_quota", ""),
    )
    asked.__pydantic_fields_set__.add("daily_quota")
    return asked


async def set_disabled(page: PageRequest) -> Response:
    user = page.parameter("id")
    asked = UserPatch(disabled=page.form.get("disabled") == "true")
    try:
        await change_user(page.request, page.account, user, asked)
    except SHOWN as refusal:
        return await user_page(page, error=refusal)
    return page.redirect(f"{USERS}/{user}?done=changed")


async def create_link(page: PageRequest) -> Response:
    try:
        code = await make_link(page.request, page.account, page.parameter("id"), days=LINK_DAYS)
    except SHOWN as refusal:
        return await user_page(page, error=refusal)
    return await user_page(page, link=link_url(judge_url(page.request), code))


async def create_token(page: PageRequest) -> Response:
    try:
        asked = token_of_form(page)
        user = await show_user(page.state, page.parameter("id"))
        created = await give_token(
            page.request, page.account, AccountId(user.id), user.role, asked
        )
    except SHOWN as refusal:
        return await user_page(page, error=refusal)
    return await user_page(page, created=created)


async def revoke(page: PageRequest) -> Response:
    user = await show_user(page.state, page.parameter("id"))
    account = AccountId(user.id)
    await revoke_token(page.request, page.account, account, page.parameter("token"))
    return page.redirect(f"{USERS}/{user.id}")


ROUTES: Final = [
    page_route(USERS, show_users),
    page_route(USERS, create_user, "POST"),
    page_route(USER, show_one),
    page_route(USER, change, "POST"),
    page_route(USER + "/disabled", set_disabled, "POST"),
    page_route(USER + "/link", create_link, "POST"),
    page_route(TOKENS, create_token, "POST"),
    page_route(TOKENS + "/{token}/revoke", revoke, "POST"),
]
