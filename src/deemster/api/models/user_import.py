"""Request and response models of the import of accounts, and of log-ins by a link."""

from typing import Annotated

from pydantic import Field, StringConstraints

from deemster.api.models.field_types import RequestModel, ResponseModel
from deemster.api.user_import.log_ins import LINK_DAYS, CredentialsKind
from deemster.domain.account import Role
from deemster.store.account_import import ImportOutcome


class LinkLogIn(RequestModel):
    code: Annotated[str, StringConstraints(min_length=1, max_length=64)]
    """The last part of a log-in link."""


class UserImportQuery(RequestModel):
    credentials: CredentialsKind = CredentialsKind.LINK
    """What an account gets if the list has no password for it: a one-time link, a
    generated password, or nothing."""
    link_days: Annotated[int, Field(ge=1, le=365)] = LINK_DAYS
    """Days until an unused link expires."""
    renew: bool = False
    """Gives new credentials to accounts that exist; otherwise these are not changed."""


class ImportedUserOut(ResponseModel):
    line: int
    """Line of the list."""
    id: str
    name: str
    role: Role
    outcome: ImportOutcome
    """kept: the account existed, and was not changed."""
    password: str | None
    """The generated password, or that of the list. No other response shows it."""
    link: str | None
    """Link that logs in once. No other response shows it."""
    other: dict[str, str]
    """Columns of the list that Deemster does not use."""


class ImportOut(ResponseModel):
    created: int
    renewed: int
    kept: int
    users: list[ImportedUserOut]
    """In the order of the list."""
