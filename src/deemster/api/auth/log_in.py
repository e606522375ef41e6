"""Logs in with name and password; the response does not say which of both is wrong (O6)."""

from dataclasses import dataclass

import structlog
from starlette.requests import Request

from deemster.api.app_state import AppState, app_state
from deemster.api.auth.generated_passwords import is_generated, matches_generated
from deemster.api.http.errors import FieldFault, Invalid, WrongPassword
from deemster.domain.account import Account
from deemster.store import accounts, sessions
from deemster.store.accounts import Credentials
from deemster.store.pool import connection
from deemster.store.sessions import NewSession

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, repr=False)
class LoggedIn:
    account: Account
    session: NewSession
    password_hash: str


async def log_in(request: Request, name: str, password: str) -> LoggedIn:
    state = app_state(request)
    auth = state.auth
    await auth.throttle.check_address(request)
    async with connection(state.pool) as acquired:
        found = await accounts.credentials_by_name(acquired, name)
    hashed = found.password if found is not None and not found.disabled else None
    device = auth.devices.identify(request, name, hashed)
    # Checked before the turn, so that refused callers don't wait for one, and again within it.
    await auth.throttle.check_guess(request, name, device)
    if found is not None and hashed is not None and is_right_generated(hashed, password):
        # Needs no turn, so that a whole class can log in at once.
        await auth.throttle.count_log_in(name)
        return await logged_in(state, found, hashed)
    async with auth.passwords.turn():
        await auth.throttle.check_guess(request, name, device)
        is_right = await auth.passwords.verify(password, hashed)
        if not is_right or found is None or hashed is None:
            await auth.throttle.count_guess(request, name, device)
            client = request.client.host if request.client else None
            log.warning("log_in.failed", account=name, client=client)
            raise wrong_password()
        await auth.throttle.count_log_in(name)
        hashed = await rehash_if_outdated(state, found, hashed, password)
    return await logged_in(state, found, hashed)


def is_right_generated(hashed: str, password: str) -> bool:
    return is_generated(hashed) and matches_generated(hashed, password)


async def logged_in(state: AppState, found: Credentials, hashed: str) -> LoggedIn:
    session = await begin_session(state, found.account, hashed)
    if session is None:
        raise wrong_password()  # the password was changed meanwhile
    return LoggedIn(found.account, session, hashed)


async def begin_session(
    state: AppState, account: Account, hashed: str | None = None
) -> NewSession | None:
    """Returns None if the account was disabled, or has another password hash by now."""
    keep_s = session_seconds(state)
    async with connection(state.pool) as acquired:
        return await sessions.begin(acquired, account.id, keep_s=keep_s, password=hashed)


def session_seconds(state: AppState) -> float:
    return state.settings.session_hours * 3600


async def check_current_password(
    request: Request, known: Credentials, password: str | None
) -> None:
    """Protects the account of someone who left a browser logged in."""
    auth = app_state(request).auth
    name = known.account.name
    device = auth.devices.identify(request, name, known.password)
    await auth.throttle.check_guess(request, name, device)
    if not await auth.passwords.verify(password or "", known.password):
        await auth.throttle.count_guess(request, name, device)
        raise Invalid([FieldFault("current_password", "this is not your password")])
    await auth.throttle.count_log_in(name)


async def rehash_if_outdated(
    state: AppState, found: Credentials, hashed: str, password: str
) -> str:
    if not state.auth.passwords.is_outdated(hashed):
        return hashed
    better = await state.auth.passwords.hash(password)
    async with connection(state.pool) as acquired:
        await accounts.rehash_password(acquired, found.account.id, old=hashed, password=better)
    return better


def wrong_password() -> WrongPassword:
    return WrongPassword("The name or the password is wrong, or the account is disabled.")
