"""Who asks: an account, its role, and what its token or log-in is good for (O6)."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from deemster.domain.ids import AccountId, TokenId


class Role(StrEnum):
    """Each may do what those before it may."""

    USER = "user"
    AUTHOR = "author"
    ADMIN = "admin"

    def includes(self, other: "Role") -> bool:
        order = list(Role)
        return order.index(self) >= order.index(other)


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
    """1: its submissions go before those of others of the same standing (Q8)."""
    daily_quota: int | None = None
    """None: that of the settings."""
