"""An account, its role, and the scopes of the token or session it uses (O6)."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from deemster.domain.errors import Refused
from deemster.domain.ids import AccountId, TokenId

NAME_PATTERN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""The table `account` has the same rule."""


class Role(StrEnum):
    """Each role may do everything that the roles before it may do."""

    USER = "user"
    AUTHOR = "author"
    ADMIN = "admin"

    def includes(self, other: "Role") -> bool:
        return RANKS[self] >= RANKS[other]


RANKS: Final = {role: rank for rank, role in enumerate(Role)}


class Scope(StrEnum):
    """What a token permits; the role of its account bounds it further."""

    READ = "read"
    SUBMIT = "submit"
    """Create and cancel submissions."""
    ACCOUNT = "account"
    """Change the account's own password, tokens and webhook secret."""
    PROBLEMS = "problems"
    """Import, revise and retire problems."""
    ADMIN = "admin"
    METRICS = "metrics"


ALL_SCOPES: Final = frozenset(Scope)
USER_SCOPES: Final = frozenset({Scope.READ, Scope.SUBMIT, Scope.ACCOUNT})
DEFAULT_SCOPES: Final = {
    Role.USER: USER_SCOPES,
    Role.AUTHOR: USER_SCOPES | {Scope.PROBLEMS},
    Role.ADMIN: ALL_SCOPES,
}
"""Scopes of a token for which none are named: those that the role of its account can use."""


@dataclass(frozen=True, slots=True)
class Account:
    id: AccountId
    name: str
    role: Role
    token: TokenId | None = None
    """The token that the request used; None: a session or a JWT."""
    scopes: frozenset[Scope] = ALL_SCOPES
    tier: int = 0
    """1: the account's practice submissions are queued as interactive ones (Q8)."""
    daily_quota: int | None = None
    """None: the quota of the settings applies."""

    def quota(self, default: int | None) -> int | None:
        """Submissions that the account may create in a day (D2); None: no limit."""
        if self.role is Role.ADMIN:
            return None
        return self.daily_quota if self.daily_quota is not None else default


def check_name(name: str) -> str:
    if not NAME_PATTERN.fullmatch(name):
        raise Refused(
            f"{name[:80]!r} can't be the name of an account: use up to 64 letters, digits, "
            "dots, dashes and underscores, and begin with a letter or digit."
        )
    return name
