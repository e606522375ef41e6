"""`/v1/admin/audit`: what admins and authors did."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api.answering import answer, faults
from deemster.api.caller import Caller
from deemster.api.desk import desk_of
from deemster.api.numbers import number_at
from deemster.api.paging import PageQuery, cut
from deemster.api.shapes import Told
from deemster.api.submission_in import Plain
from deemster.store import audit
from deemster.store.audit import Deed
from deemster.store.pool import connection

router = APIRouter(tags=["admin"])


class AuditQuery(PageQuery):
    actor: Plain | None = None
    """The name of an account, or who ran a command."""
    act: Plain | None = None
    """Such as `problem.import`."""
    target: Plain | None = None
    """The id of what it was done to."""


class DeedOut(Told):
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


class DeedPage(Told):
    items: list[DeedOut]
    next_cursor: str | None


@router.get(
    "/v1/admin/audit", response_model=DeedPage, responses=faults(401, 403, 422, 429, 503)
)
async def list_deeds(
    request: Request, _caller: Caller, query: Annotated[AuditQuery, Query()]
) -> Response:
    """Newest first."""
    async with connection(desk_of(request).service.pool) as acquired:
        found = await audit.page(
            acquired,
            before=number_at(query.place),
            most=query.limit + 1,
            actor=query.actor,
            act=query.act,
            target=query.target,
        )
    page, cursor = cut(found, query.limit, lambda deed: str(deed.id))
    return answer(DeedPage(items=[deed_out(deed) for deed in page], next_cursor=cursor))


def deed_out(deed: Deed) -> DeedOut:
    return DeedOut(
        number=deed.id,
        at=deed.at,
        actor=deed.actor,
        account_id=deed.account,
        act=deed.act,
        target=deed.target,
        details=dict(deed.details),
        request_id=deed.request_id,
    )
