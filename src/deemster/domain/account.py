"""Who asks: an account, its role, and what its token or log-in is good for (O6)."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from deemster.domain.errors import Refused
from deemster.domain.ids import AccountId, TokenId

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""Of an account, as the table has it."""


class Role(StrEnum):
    """Each may do what those before it may."""

    USER = "user"
    AUTHOR = "author"
    ADMIN = "admin"

    def includes(self, other: "Role") -> bool:
        return RANKS[self] >= RANKS[other]


RANKS: Final = {role: rank for rank, role in enumerate(Role)}


class Scope(StrEnum):
    """What a token may be used for; never more than its account's role allows."""

    READ = "read"
    SUBMIT = "submit"
    """Hand in, and cancel."""
    ACCOUNT = "account"
    """Its password, its tokens, its webhook secret."""
    PROBLEMS = "problems"
    """Import, revise and retire problems."""
    ADMIN = "admin"
    METRICS = "metrics"


ALL_SCOPES: Final = frozenset(Scope)


@dataclass(frozen=True, slots=True)
class Account:
    id: AccountId
    name: str
    role: Role
    token: TokenId | None = None
    """By which it asks; None: by a log-in, or by an issuer's word."""
    scopes: frozenset[Scope] = ALL_SCOPES
    tier: int = 0
    """1: its submissions go before those of others of the same priority class (Q8)."""
    daily_quota: int | None = None
    """None: that of the settings."""

    def quota(self, usual: int | None) -> int | None:
        """How many it may hand in on a day (D2); None: as many as it likes."""
        if self.role is Role.ADMIN:
            return None
        return self.daily_quota if self.daily_quota is not None else usual


def check_name(name: str) -> str:
    if not NAME.fullmatch(name):
        raise Refused(
            f"An account can't be called {name[:80]!r}: use up to 64 letters, digits, dots, "
            "dashes and underscores, beginning with a letter or digit."
        )
    return name
