"""`/v1/admin/audit`: the log of what admins and authors did."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api.authentication import Caller
from deemster.api.http.body import json_response
from deemster.api.http.errors import errors
from deemster.api.http.paging import cut
from deemster.api.models.audit import AuditPage, AuditQuery, audit_entry_out
from deemster.api.state import app_state
from deemster.store import audit
from deemster.store.pool import connection

router = APIRouter(tags=["admin"])


@router.get("/v1/admin/audit", response_model=AuditPage, responses=errors(422))
async def list_audit_entries(
    request: Request, _caller: Caller, query: Annotated[AuditQuery, Query()]
) -> Response:
    """Lists the audit log, newest entry first."""
    async with connection(app_state(request).pool) as acquired:
        found = await audit.page(
            acquired,
            before=query.last_number,
            limit=query.limit + 1,
            actor=query.actor,
            act=query.act,
            target=query.target,
        )
    page, cursor = cut(found, query.limit, lambda entry: str(entry.id))
    items = [audit_entry_out(entry) for entry in page]
    return json_response(AuditPage(items=items, next_cursor=cursor))
