"""Request and response models of accounts, log-ins and tokens."""

from datetime import datetime
from typing import Annotated, Any, Final

from pydantic import Field, StringConstraints, WithJsonSchema

from deemster.api.auth.passwords import MAX_CHARS, MIN_CHARS
from deemster.api.http.paging import Page, PageQuery
from deemster.api.models.field_types import RequestModel, ResponseModel, ShortText
from deemster.domain.account import NAME_PATTERN, Account, Role, Scope
from deemster.pattern_messages import text_form
from deemster.store.accounts import AccountUpdate, AccountView, TokenView

BODY_BYTES: Final = 32 * 1024
"""Largest body of a request without a caller; other account requests have it too."""
Password = Annotated[str, StringConstraints(min_length=1, max_length=MAX_CHARS)]
NewPassword = Annotated[
    Password,
    # check_password counts the normalised characters, so only the document states the limits.
    WithJsonSchema({"type": "string", "minLength": MIN_CHARS, "maxLength": MAX_CHARS}),
]
NewName = Annotated[
    str,
    text_form(
        f"^{NAME_PATTERN.pattern}$",
        "use up to 64 letters, digits, dots, dashes and underscores, and begin with a letter "
        "or digit",
        max_length=64,
    ),
]
Quota = Annotated[int, Field(ge=0, le=2**31 - 1)]
Tier = Annotated[int, Field(ge=0, le=1)]


class LogIn(RequestModel):
    name: ShortText
    password: Password


class SignUp(RequestModel):
    name: NewName
    password: NewPassword


class PasswordChange(RequestModel):
    current_password: Password | None = None
    """Needed if the account has a password."""
    password: NewPassword
    """The new password."""


class MeOut(ResponseModel):
    id: str
    name: str
    role: Role


class ProfileOut(ResponseModel):
    """Counts of judged submissions; a rejudged submission counts by its last verdict."""

    submits: int
    accepted: int
    solved: int
    """Problems with an accepted submission."""
    tried: int
    """Problems with submissions, but without an accepted one."""
    daily_quota: int | None
    """Submissions per day; null if there is no limit."""
    left_today: int | None
    """Submissions that are left until midnight UTC; null if there is no limit."""


class SessionOut(ResponseModel):
    user: MeOut
    scopes: list[Scope]
    """Scopes of the token; a log-in has all scopes."""
    csrf_token: str | None = None
    """Send it in the header X-CSRF-Token with every request of this log-in except GET."""
    token_id: str | None = None
    """Id of the token that the request used."""
    expires_at: datetime | None = None
    """End of a new log-in; each use moves it."""
    profile: ProfileOut | None = None
    """Only in the response to GET."""


class UserOut(ResponseModel):
    id: str
    name: str
    role: Role
    created_at: datetime
    disabled: bool
    tier: int
    """1: the account's submissions are judged before those of accounts with tier 0."""
    daily_quota: int | None
    """Submissions per day; null if the quota of the settings applies."""
    has_password: bool


class UserPage(Page[UserOut]):
    """A page of accounts."""


class UserQuery(PageQuery):
    role: Role | None = None
    name: ShortText | None = None
    """Beginning of the name."""


class UserIn(RequestModel):
    name: NewName
    role: Role = Role.USER
    password: NewPassword | None = None
    tier: Tier = 0
    daily_quota: Quota | None = None


class UserPatch(RequestModel):
    """Fields that are missing or null do not change; a quota of null restores the default."""

    role: Role | None = None
    disabled: bool | None = None
    tier: Tier | None = None
    daily_quota: Quota | None = None
    password: NewPassword | None = None

    def to_update(self) -> AccountUpdate:
        return AccountUpdate(
            role=self.role,
            disabled=self.disabled,
            tier=self.tier,
            quota_given="daily_quota" in self.model_fields_set,
            daily_quota=self.daily_quota,
        )

    def audit_details(self) -> dict[str, Any]:
        """Fields for the audit log, without the password."""
        fields = self.model_dump(exclude={"password"}, exclude_unset=True)
        return {**fields, "password": "changed"} if self.password else fields


class TokenIn(RequestModel):
    name: ShortText
    """Purpose of the token."""
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=2 * len(Scope))] | None = None
    """Subset of the scopes of the token or log-in that sends the request; default: those
    that the role of the account can use."""
    expires_in_days: Annotated[int, Field(ge=1, le=36_500)] | None = None
    """null: the token is valid until it is revoked."""


class TokenOut(ResponseModel):
    id: str
    name: str
    scopes: list[Scope]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    """Accurate to about a minute."""
    revoked: bool
    expired: bool


class NewTokenOut(TokenOut):
    token: str
    """The token itself. No other response shows it."""


class TokenPage(Page[TokenOut]):
    """A page of tokens."""


def me_out(account: Account) -> MeOut:
    return MeOut(id=account.id, name=account.name, role=account.role)


def user_out(view: AccountView) -> UserOut:
    return UserOut.model_validate(view, from_attributes=True)


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
