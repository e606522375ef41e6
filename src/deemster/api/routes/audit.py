"""`/v1/admin/audit`: the log of what admins and authors did."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api import audit
from deemster.api.app_state import app_state
from deemster.api.authentication import Caller
from deemster.api.http.body import json_response
from deemster.api.http.errors import errors
from deemster.api.models.audit import AuditPage, AuditQuery

router = APIRouter(tags=["admin"])


@router.get("/v1/admin/audit", response_model=AuditPage, responses=errors(422))
async def list_audit_entries(
    request: Request, _caller: Caller, query: Annotated[AuditQuery, Query()]
) -> Response:
    """Lists the audit log, newest entry first."""
    return json_response(await audit.list_audit_entries(app_state(request), query))
