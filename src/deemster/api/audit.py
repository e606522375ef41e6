"""Reads the audit log, for routes and pages."""

from deemster.api.app_state import AppState
from deemster.api.http.paging import cut
from deemster.api.models.audit import AuditPage, AuditQuery, audit_entry_out
from deemster.store import audit
from deemster.store.pool import connection


async def list_audit_entries(state: AppState, query: AuditQuery) -> AuditPage:
    """Newest first."""
    async with connection(state.pool) as acquired:
        found = await audit.page(
            acquired,
            before=query.last_number,
            limit=query.limit + 1,
            actor=query.actor,
            act=query.act,
            target=query.target,
        )
    page, cursor = cut(found, query.limit, lambda entry: str(entry.id))
    return AuditPage(items=[audit_entry_out(entry) for entry in page], next_cursor=cursor)
