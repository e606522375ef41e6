"""`/v1/admin/audit`: what admins and authors did."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api.authentication import Caller
from deemster.api.http.json_response import answer, faults
from deemster.api.http.numbers import number_at
from deemster.api.http.paging import PageQuery, cut
from deemster.api.models.kinds import ResponseModel
from deemster.api.models.submission_requests import Plain
from deemster.api.state import app_state
from deemster.store import audit
from deemster.store.audit import AuditEntry
from deemster.store.pool import connection

router = APIRouter(tags=["admin"])


class AuditQuery(PageQuery):
    actor: Plain | None = None
    """The name of an account, or who ran a command."""
    act: Plain | None = None
    """Such as `problem.import`."""
    target: Plain | None = None
    """The id of what it was done to."""


class AuditEntryOut(ResponseModel):
    number: int
    at: datetime
    actor: str
    account_id: str | None
    """null: by a command on the machine."""
    act: str
    target: str | None
    details: dict[str, Any]
    request_id: str | None
    """As it is in the log."""


class AuditPage(ResponseModel):
    items: list[AuditEntryOut]
    next_cursor: str | None


@router.get(
    "/v1/admin/audit", response_model=AuditPage, responses=faults(401, 403, 422, 429, 503)
)
async def list_audit_entries(
    request: Request, _caller: Caller, query: Annotated[AuditQuery, Query()]
) -> Response:
    """Newest first."""
    async with connection(app_state(request).pool) as acquired:
        found = await audit.page(
            acquired,
            before=number_at(query.place),
            limit=query.limit + 1,
            actor=query.actor,
            act=query.act,
            target=query.target,
        )
    page, cursor = cut(found, query.limit, lambda deed: str(deed.id))
    return answer(AuditPage(items=[audit_entry_out(deed) for deed in page], next_cursor=cursor))


def audit_entry_out(deed: AuditEntry) -> AuditEntryOut:
    return AuditEntryOut(
        number=deed.id,
        at=deed.at,
        actor=deed.actor,
        account_id=deed.account,
        act=deed.act,
        target=deed.target,
        details=dict(deed.details),
        request_id=deed.request_id,
    )
