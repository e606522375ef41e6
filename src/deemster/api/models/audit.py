"""Request and response models of the audit log."""

from datetime import datetime
from typing import Any

from deemster.api.http.paging import Page, PageQuery
from deemster.api.models.field_types import ResponseModel, ShortText
from deemster.store.audit import AuditEntry


class AuditQuery(PageQuery):
    actor: ShortText | None = None
    """Name of the account, or of the operator who ran a command."""
    act: ShortText | None = None
    """Kind of action, such as `problem.import`."""
    target: ShortText | None = None
    """Id of the object that the action changed."""


class AuditEntryOut(ResponseModel):
    number: int
    at: datetime
    actor: str
    """Name of the account, or of the operator who ran a command."""
    account_id: str | None
    """null if a command on the machine did it."""
    act: str
    target: str | None
    details: dict[str, Any]
    request_id: str | None
    """Id of the HTTP request, as in the log."""


class AuditPage(Page[AuditEntryOut]):
    """A page of the audit log."""


def audit_entry_out(entry: AuditEntry) -> AuditEntryOut:
    return AuditEntryOut(
        number=entry.id,
        at=entry.at,
        actor=entry.actor,
        account_id=entry.account,
        act=entry.act,
        target=entry.target,
        details=dict(entry.details),
        request_id=entry.request_id,
    )
