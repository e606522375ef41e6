"""Creates and updates the accounts of users who log in through an external issuer (O6)."""

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

NAME_CHARS: Final = 48
NUMBERED_NAMES: Final = 9


class AccountProvisioner:
    def __init__(self, pool: Pool, role_claim: str | None) -> None:
        self._pool = pool
        self._role_claim = role_claim

    async def account_of(self, claims: Mapping[str, Any]) -> Account:
        """Finds accounts by issuer and subject, never by name, which the user could choose."""
        issuer, subject = claims["iss"], claims["sub"]
        role = role_of(claims, self._role_claim) if self._role_claim else None
        async with connection(self._pool) as acquired:
            known = await identities.find(acquired, issuer, subject)
        if known is None or (role is not None and updates_account(known, role, iat_of(claims))):
            known = await self._provision(claims, role)
        if known.disabled:
            raise Unauthorised("This account is disabled: ask an admin of this judge.")
        return known.account

    async def _provision(self, claims: Mapping[str, Any], role: Role | None) -> LinkedAccount:
        issuer, subject = claims["iss"], claims["sub"]
        try:
            async with transaction(self._pool) as acquired:
                await identities.lock(acquired, issuer, subject)
                known = await identities.find(acquired, issuer, subject)
                return await provision(acquired, known, claims, role)
        except Conflict as fault:
            # The issuer no longer names the last admin as one: neither admitted nor demoted.
            raise Unauthorised(str(fault)) from fault


async def provision(
    acquired: Connection,
    known: LinkedAccount | None,
    claims: Mapping[str, Any],
    role: Role | None,
) -> LinkedAccount:
    """If the issuer names roles, its newest token decides, for more rights or fewer."""
    issuer, subject, iat = claims["iss"], claims["sub"], iat_of(claims)
    by = Actor(f"issuer {issuer}")
    if known is None:
        account = await add(acquired, name_of(claims), role or Role.USER)
        await identities.add(acquired, issuer, subject, account.id, iat=iat)
        await record(acquired, by, "user.add", account.id, name=account.name, role=account.role)
    elif role is not None:
        wanted = effective_role(known, role, iat)
        if wanted is not known.account.role:
            await accounts.update(acquired, known.account.id, AccountUpdate(role=wanted))
            await record(acquired, by, "user.change", known.account.id, role=wanted)
        if iat is not None:
            await identities.update_newest_iat(acquired, issuer, subject, iat)
    found = await identities.find(acquired, issuer, subject)
    assert found is not None, "this transaction added it"
    return found


def updates_account(known: LinkedAccount, role: Role, iat: float | None) -> bool:
    """Whether the token changes the role, or confirms it at a later time."""
    if effective_role(known, role, iat) is not known.account.role:
        return True
    return iat is not None and (known.newest_iat is None or iat > known.newest_iat)


def effective_role(known: LinkedAccount, claimed: Role, iat: float | None) -> Role:
    """An old but valid token does not restore a role that the issuer has since taken away."""
    current = known.account.role
    if iat is None:  # the token may be old, so it can only lower the role
        return claimed if current.includes(claimed) else current
    is_old = known.newest_iat is not None and iat < known.newest_iat
    return current if is_old else claimed


async def add(acquired: Connection, name: str, role: Role) -> Account:
    """Adds the account with this name, or with a similar one if the name is taken."""
    for number in range(1, NUMBERED_NAMES + 1):
        wanted = name if number == 1 else f"{name}-{number}"
        account = await accounts.add_if_name_is_free(acquired, wanted, role)
        if account is not None:
            return account
    return await accounts.add(acquired, f"{name}-{secrets.token_hex(6)}", role)


def name_of(claims: Mapping[str, Any]) -> str:
    wanted = claims.get("preferred_username")
    text = wanted if isinstance(wanted, str) and wanted else claims["sub"]
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("._-")[:NAME_CHARS]
    return plain or "user"


def iat_of(claims: Mapping[str, Any]) -> float | None:
    """When the token was issued, in seconds; None if the claim is not a number."""
    issued = claims.get("iat")
    if isinstance(issued, bool) or not isinstance(issued, int | float):
        return None
    return float(issued)


def role_of(claims: Mapping[str, Any], claim: str) -> Role:
    """The highest role that the claim names, as a string or a list; without one, user."""
    named = claims.get(claim)
    words = named if isinstance(named, list) else [named]
    roles = [role for role in Role if role in words]  # Role lists the lowest first
    return roles[-1] if roles else Role.USER
