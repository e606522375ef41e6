"""Creates accounts, changes passwords and ends other log-ins, for routes and pages (O6)."""

from starlette.requests import Request
from starlette.responses import Response

from deemster.api.app_state import AppState, app_state
from deemster.api.auth.log_in import check_current_password
from deemster.api.auth.passwords import check_password
from deemster.api.authentication import actor_of, session_of
from deemster.api.http.errors import Forbidden, request_id_of
from deemster.api.models.accounts import PasswordChange, SignUp
from deemster.domain.account import ALL_SCOPES, Account, Role
from deemster.store import accounts, audit, sessions
from deemster.store.accounts import Credentials
from deemster.store.audit import Actor
from deemster.store.pool import connection, transaction


async def create_account(request: Request, asked: SignUp) -> Account:
    """Call it only if the setting `sign_up` allows it."""
    state = app_state(request)
    check_password(asked.password)
    await state.auth.throttle.count_sign_up(request)
    async with state.auth.passwords.turn():
        password = await state.auth.passwords.hash(asked.password)
    async with transaction(state.pool) as acquired:
        account = await accounts.add(acquired, asked.name, Role.USER)
        await accounts.set_password(acquired, account.id, password)
        actor = Actor(account.name, account.id, request_id_of(request))
        await audit.record(acquired, actor, "user.sign_up", account.id)
    return account


async def has_password(state: AppState, caller: Account) -> bool:
    return (await own_credentials(state, caller)).password is not None


async def change_own_password(request: Request, caller: Account, asked: PasswordChange) -> str:
    """Ends all other log-ins of the account. Returns the hash of the new password."""
    state = app_state(request)
    check_password(asked.password)
    known = await own_credentials(state, caller)
    if known.password is None and caller.scopes != ALL_SCOPES:
        # A password gives all scopes: a token with fewer must not set one.
        raise Forbidden("To set a first password, use a token with all scopes, or log in.")
    # Checked again within the turn: a caller who is over the limit must not wait for one.
    device = state.auth.devices.identify(request, known.account.name, known.password)
    await state.auth.throttle.check_guess(request, known.account.name, device)
    async with state.auth.passwords.turn():
        if known.password is not None:
            await check_current_password(request, known, asked.current_password)
        password = await state.auth.passwords.hash(asked.password)
    async with transaction(state.pool) as acquired:
        old = known.password
        await accounts.replace_password(acquired, caller.id, old=old, password=password)
        ended = await sessions.end_all(acquired, caller.id, except_digest=session_of(request))
        await audit.record(acquired, actor_of(request, caller), "user.password", caller.id)
    state.credentials.forget(ended)
    return password


def remember_device(
    request: Request, response: Response, caller: Account, password: str
) -> None:
    """The browser's device cookie was bound to the old password."""
    if session_of(request) is not None:
        app_state(request).auth.devices.remember(response, caller.name, password)


async def end_other_log_ins(request: Request, caller: Account) -> int:
    """Ends all log-ins of the account but this one; tokens stay valid."""
    state = app_state(request)
    async with transaction(state.pool) as acquired:
        ended = await sessions.end_all(acquired, caller.id, except_digest=session_of(request))
        actor = actor_of(request, caller)
        await audit.record(acquired, actor, "user.log_out_others", caller.id, ended=len(ended))
    state.credentials.forget(ended)
    return len(ended)


async def own_credentials(state: AppState, caller: Account) -> Credentials:
    async with connection(state.pool) as acquired:
        known = await accounts.credentials_by_id(acquired, caller.id)
    assert known is not None, "rows of accounts are never deleted"
    return known
