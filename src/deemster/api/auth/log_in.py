"""By name and password: what is wrong, or that there is no such name, is not told (O6)."""

from dataclasses import dataclass
from typing import Final

from starlette.requests import Request

from deemster.api.http.errors import FieldFault, Invalid, WrongPassword
from deemster.api.state import AppState, app_state
from deemster.domain.account import Account
from deemster.store import accounts, sessions
from deemster.store.accounts import Credentials
from deemster.store.pool import Pool, connection
from deemster.store.sessions import NewSession

HOUR_S: Final = 3600


@dataclass(frozen=True, slots=True, repr=False)
class LoggedIn:
    account: Account
    session: NewSession
    hashed: str
    """The password, by which they came."""


async def log_in(request: Request, name: str, password: str) -> LoggedIn:
    state = app_state(request)
    await state.auth.throttle.check_address(request)
    async with connection(state.pool) as acquired:
        found = await accounts.credentials_by_name(acquired, name)
    hashed = found.password if found is not None and not found.disabled else None
    device = state.auth.devices.known(request, name, hashed)
    # Looked at twice: before the line for those who have no chance, and when it is their turn.
    await state.auth.throttle.check_guess(request, name, device)
    async with state.auth.passwords.turn():
        await state.auth.throttle.check_guess(request, name, device)
        fits = await state.auth.passwords.fits(password, hashed)
        if not fits or found is None or hashed is None:
            await state.auth.throttle.count_guess(request, name, device)
            raise wrong()
        await state.auth.throttle.count_log_in(name)
        hashed = await renewed(state, found, hashed, password)
    session = await begin(state, found.account, hashed)
    if session is None:
        raise wrong()  # it was changed while we looked
    return LoggedIn(found.account, session, hashed)


async def begin(
    state: AppState, account: Account, hashed: str | None = None
) -> NewSession | None:
    keep_s = state.settings.session_hours * HOUR_S
    async with connection(state.pool) as acquired:
        return await sessions.begin(acquired, account.id, keep_s=keep_s, password=hashed)


async def check_own(request: Request, known: Credentials, password: str | None) -> None:
    """Of who is in already, before something that a forgotten screen must not allow."""
    state = app_state(request)
    name = known.account.name
    device = state.auth.devices.known(request, name, known.password)
    await state.auth.throttle.check_guess(request, name, device)
    if not await state.auth.passwords.fits(password or "", known.password):
        await state.auth.throttle.count_guess(request, name, device)
        raise Invalid([FieldFault("current_password", "this is not your password")])
    await state.auth.throttle.count_log_in(name)


async def renewed(state: AppState, found: Credentials, hashed: str, password: str) -> str:
    """Its hash, made anew if we make better ones by now."""
    if not state.auth.passwords.is_outdated(hashed):
        return hashed
    better = await state.auth.passwords.hash(password)
    return await replace(state.pool, found.account, hashed, better)


async def replace(pool: Pool, account: Account, old: str, better: str) -> str:
    async with connection(pool) as acquired:
        await accounts.rehash_password(acquired, account.id, old=old, password=better)
    return better


def wrong() -> WrongPassword:
    return WrongPassword("Name or password are wrong, or the account is disabled.")
