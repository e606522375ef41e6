"""What is told of accounts, log-ins and tokens, and what is asked for them."""

from datetime import datetime
from typing import Annotated, Any, Final

from pydantic import Field, StringConstraints, WithJsonSchema

from deemster.api.auth.passwords import LEAST_LETTERS, MOST_LETTERS
from deemster.api.models.kinds import RequestModel, ResponseModel
from deemster.api.models.submission_requests import Plain
from deemster.domain.account import NAME_PATTERN, Account, Role, Scope
from deemster.store.accounts import AccountUpdate, AccountView, TokenView

BODY_BYTES: Final = 32 * 1024
"""Of what strangers may send."""
Password = Annotated[str, StringConstraints(min_length=1, max_length=MOST_LETTERS)]
NewPassword = Annotated[
    Password,
    # Counted when it is brought to its normal form, by who says why it is too short.
    WithJsonSchema({"type": "string", "minLength": LEAST_LETTERS, "maxLength": MOST_LETTERS}),
]
NewName = Annotated[str, StringConstraints(pattern=f"^{NAME_PATTERN.pattern}$", max_length=64)]
Quota = Annotated[int, Field(ge=0, le=2**31 - 1)]
Tier = Annotated[int, Field(ge=0, le=1)]


class LogIn(RequestModel):
    name: Plain
    password: Password


class SignUp(RequestModel):
    name: NewName
    password: NewPassword


class PasswordChange(RequestModel):
    current_password: Password | None = None
    """Of an account that has one."""
    password: NewPassword
    """The new one."""


class MeOut(ResponseModel):
    id: str
    name: str
    role: Role


class ProfileOut(ResponseModel):
    """Of what was judged; what was judged again counts as it was judged last."""

    submits: int
    accepted: int
    solved: int
    """Problems with one that was accepted."""
    tried: int
    """Problems without one, so far."""
    daily_quota: int | None
    """null: as many as you like."""
    left_today: int | None
    """Of the quota, until midnight UTC."""


class SessionOut(ResponseModel):
    user: MeOut
    scopes: list[Scope]
    """What this log-in, or this token, is good for."""
    csrf_token: str | None = None
    """Of a log-in: goes into the header X-CSRF-Token of all that is no GET."""
    token_id: str | None = None
    expires_at: datetime | None = None
    """Of a new log-in: later, if it is used meanwhile."""
    profile: ProfileOut | None = None
    """ResponseModel by GET."""


class UserOut(ResponseModel):
    id: str
    name: str
    role: Role
    created_at: datetime
    disabled: bool
    tier: int
    """1: its submissions go before those of others of the same kind."""
    daily_quota: int | None
    """null: that of the settings."""
    has_password: bool


class UserPage(ResponseModel):
    items: list[UserOut]
    next_cursor: str | None


class UserIn(RequestModel):
    name: NewName
    role: Role = Role.USER
    password: NewPassword | None = None
    tier: Tier = 0
    daily_quota: Quota | None = None


class UserPatch(RequestModel):
    """What is left out, or null, stays; but null as a quota means that of the settings."""

    role: Role | None = None
    disabled: bool | None = None
    tier: Tier | None = None
    daily_quota: Quota | None = None
    password: NewPassword | None = None

    def to_change(self) -> AccountUpdate:
        return AccountUpdate(
            role=self.role,
            disabled=self.disabled,
            tier=self.tier,
            quota_given="daily_quota" in self.model_fields_set,
            daily_quota=self.daily_quota,
        )

    def told(self) -> dict[str, Any]:
        """For the audit log, which holds no secret."""
        told = self.model_dump(exclude={"password"}, exclude_unset=True)
        return {**told, "password": "changed"} if self.password else told


class TokenIn(RequestModel):
    name: Plain
    """What it is for."""
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=2 * len(Scope))] | None = None
    """Those of the token or log-in that asks, or fewer; all of those unless told."""
    expires_in_days: Annotated[int, Field(ge=1, le=36_500)] | None = None
    """null: it is good until it is revoked."""


class TokenOut(ResponseModel):
    id: str
    name: str
    scopes: list[Scope]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    """To a minute or so."""
    revoked: bool
    expired: bool


class NewTokenOut(TokenOut):
    token: str
    """It is shown now and never again."""


class TokenPage(ResponseModel):
    items: list[TokenOut]
    next_cursor: str | None


def me_out(account: Account) -> MeOut:
    return MeOut(id=account.id, name=account.name, role=account.role)


def user_out(view: AccountView) -> UserOut:
    return UserOut(
        id=view.id,
        name=view.name,
        role=view.role,
        created_at=view.created_at,
        disabled=view.disabled,
        tier=view.tier,
        daily_quota=view.daily_quota,
        has_password=view.has_password,
    )


def token_out(view: TokenView) -> TokenOut:
    return TokenOut(**token_fields(view))


def new_token_out(view: TokenView, secret: str) -> NewTokenOut:
    return NewTokenOut(**token_fields(view), token=secret)


def token_fields(view: TokenView) -> dict[str, Any]:
    return {
        "id": view.id,
        "name": view.name,
        "scopes": sorted(view.scopes),
        "created_at": view.created_at,
        "expires_at": view.expires_at,
        "last_used_at": view.last_used_at,
        "revoked": view.revoked,
        "expired": view.expired,
    }
