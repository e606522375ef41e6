"""The account of someone whom an issuer vouches for: made when they first come (O6)."""

import re
import secrets
from collections.abc import Mapping
from typing import Any, Final

from deemster.api.http.errors import Unauthorised
from deemster.domain.account import Account, Role
from deemster.domain.errors import Conflict
from deemster.store import accounts, identities
from deemster.store.accounts import AccountUpdate
from deemster.store.audit import Actor, record
from deemster.store.identities import LinkedAccount
from deemster.store.pool import Connection, Pool, connection, transaction

NAME_LETTERS: Final = 48
PLAIN_TRIES: Final = 9


class AccountProvisioner:
    def __init__(self, pool: Pool, role_claim: str | None) -> None:
        self._pool = pool
        self._role_claim = role_claim

    async def account_of(self, claims: Mapping[str, Any]) -> Account:
        """Never one that was here before by its name: a name elsewhere proves nothing."""
        issuer, subject = claims["iss"], claims["sub"]
        role = role_of(claims, self._role_claim) if self._role_claim else None
        async with connection(self._pool) as acquired:
            known = await identities.find(acquired, issuer, subject)
        if known is None or (role is not None and says_more(known, role, iat_of(claims))):
            known = await self._settle(claims, role)
        if known.disabled:
            raise Unauthorised("This account is disabled: ask an admin of this judge.")
        return known.account

    async def _settle(self, claims: Mapping[str, Any], role: Role | None) -> LinkedAccount:
        issuer, subject = claims["iss"], claims["sub"]
        try:
            async with transaction(self._pool) as acquired:
                await identities.lock(acquired, issuer, subject)
                known = await identities.find(acquired, issuer, subject)
                return await settle(acquired, known, claims, role)
        except Conflict as fault:
            # Its issuer says that the last admin is none: not let in as one, nor demoted.
            raise Unauthorised(str(fault)) from fault


async def settle(
    acquired: Connection,
    known: LinkedAccount | None,
    claims: Mapping[str, Any],
    role: Role | None,
) -> LinkedAccount:
    """Where the issuer names roles, its newest word holds, up and down."""
    issuer, subject, iat = claims["iss"], claims["sub"], iat_of(claims)
    by = Actor(f"issuer {issuer}")
    if known is None:
        account = await add(acquired, name_of(claims), role or Role.USER)
        await identities.add(acquired, issuer, subject, account.id, iat=iat)
        await record(acquired, by, "user.add", account.id, name=account.name, role=account.role)
    elif role is not None:
        wanted = role_by(known, role, iat)
        if wanted is not known.account.role:
            await accounts.update(acquired, known.account.id, AccountUpdate(role=wanted))
            await record(acquired, by, "user.change", known.account.id, role=wanted)
        if iat is not None:
            await identities.update_newest_iat(acquired, issuer, subject, iat)
    found = await identities.find(acquired, issuer, subject)
    assert found is not None, "it was made just now"
    return found


def says_more(known: LinkedAccount, role: Role, iat: float | None) -> bool:
    """Than is written down: another role, or that the same still holds."""
    if role_by(known, role, iat) is not known.account.role:
        return True
    return iat is not None and (known.newest_iat is None or iat > known.newest_iat)


def role_by(known: LinkedAccount, said: Role, iat: float | None) -> Role:
    """An old token, good still, does not bring back what its issuer has taken away since."""
    held = known.account.role
    if iat is None:
        return said if held.includes(said) else held  # it may be old: it lowers only
    is_old = known.newest_iat is not None and iat < known.newest_iat
    return held if is_old else said


async def add(acquired: Connection, name: str, role: Role) -> Account:
    """Under this name, or one like it that is free."""
    for number in range(1, PLAIN_TRIES + 1):
        wanted = name if number == 1 else f"{name}-{number}"
        account = await accounts.add_if_name_is_free(acquired, wanted, role)
        if account is not None:
            return account
    return await accounts.add(acquired, f"{name}-{secrets.token_hex(6)}", role)


def name_of(claims: Mapping[str, Any]) -> str:
    wanted = claims.get("preferred_username")
    text = wanted if isinstance(wanted, str) and wanted else claims["sub"]
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("._-")[:NAME_LETTERS]
    return plain or "user"


def iat_of(claims: Mapping[str, Any]) -> float | None:
    """When it was issued, in seconds; what is no number tells nothing."""
    told = claims.get("iat")
    if isinstance(told, bool) or not isinstance(told, int | float):
        return None
    return float(told)


def role_of(claims: Mapping[str, Any], claim: str) -> Role:
    """The highest that is named, by a word or a list of words; else a user's."""
    named = claims.get(claim)
    words = named if isinstance(named, list) else [named]
    held = [role for role in Role if role in words]  # in the order of what they may
    return held[-1] if held else Role.USER
