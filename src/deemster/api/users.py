"""Lists, creates and changes accounts, for routes and pages of admins (O6)."""

from starlette.requests import Request

from deemster.api.app_state import AppState, app_state
from deemster.api.auth.passwords import check_password
from deemster.api.authentication import actor_of
from deemster.api.http.paging import cut
from deemster.api.lookups import known_account
from deemster.api.models.accounts import (
    UserIn,
    UserOut,
    UserPage,
    UserPatch,
    UserQuery,
    user_out,
)
from deemster.domain.account import Account
from deemster.domain.errors import Conflict
from deemster.domain.ids import AccountId
from deemster.store import accounts, audit, log_in_links, sessions
from deemster.store.accounts import AccountUpdate
from deemster.store.audit import Actor
from deemster.store.pool import Connection, connection, transaction


async def list_users(state: AppState, query: UserQuery) -> UserPage:
    """Newest first."""
    async with connection(state.pool) as acquired:
        found = await accounts.page(
            acquired,
            before=AccountId(query.last_id) if query.last_id else None,
            limit=query.limit + 1,
            role=query.role,
            prefix=query.name,
        )
    page, cursor = cut(found, query.limit, lambda view: view.id)
    return UserPage(items=[user_out(view) for view in page], next_cursor=cursor)


async def show_user(state: AppState, account: str) -> UserOut:
    async with connection(state.pool) as acquired:
        return user_out(await known_account(acquired, account))


async def create_user(
    acquired: Connection, actor: Actor, asked: UserIn, password: str | None
) -> UserOut:
    """`password` is the hash of the password."""
    account = await accounts.add(acquired, asked.name, asked.role)
    update = AccountUpdate(tier=asked.tier, quota_given=True, daily_quota=asked.daily_quota)
    await accounts.update(acquired, account.id, update)
    if password is not None:
        await accounts.set_password(acquired, account.id, password)
    details = asked.model_dump(exclude={"password"})
    await audit.record(acquired, actor, "user.add", account.id, **details)
    return user_out(await known_account(acquired, account.id))


async def add_user(request: Request, caller: Account, asked: UserIn) -> UserOut:
    """In a transaction of its own."""
    state = app_state(request)
    password = await hash_password(state, asked.password)
    async with transaction(state.pool) as acquired:
        return await create_user(acquired, actor_of(request, caller), asked, password)


async def change_user(
    request: Request, caller: Account, given: str, asked: UserPatch
) -> UserOut:
    """Disabling an account ends its log-ins and revokes its tokens for good; a new password
    ends its log-ins.
    """
    state = app_state(request)
    password = await hash_password(state, asked.password)
    async with transaction(state.pool) as acquired:
        account = (await known_account(acquired, given)).id
        ended = await accounts.update(acquired, account, asked.to_update())
        if password is not None:
            await accounts.set_password(acquired, account, password)
            ended += await sessions.end_all(acquired, account)
        actor = actor_of(request, caller)
        await audit.record(acquired, actor, "user.change", account, **asked.audit_details())
        view = await known_account(acquired, account)
    state.credentials.forget(ended)
    state.credentials.forget_account(account)
    return user_out(view)


async def make_link(request: Request, caller: Account, given: str, *, days: int) -> str:
    """The code of a new one-time link, which logs in to the account."""
    async with transaction(app_state(request).pool) as acquired:
        view = await known_account(acquired, given)
        if view.disabled:
            raise Conflict(f"The account {view.name} is disabled: enable it first.")
        [code] = await log_in_links.add_all(acquired, [view.id], days=days)
        actor = actor_of(request, caller)
        await audit.record(acquired, actor, "user.link", view.id, days=days)
    return code


async def hash_password(state: AppState, password: str | None) -> str | None:
    if password is None:
        return None
    check_password(password)
    async with state.auth.passwords.turn():
        return await state.auth.passwords.hash(password)
