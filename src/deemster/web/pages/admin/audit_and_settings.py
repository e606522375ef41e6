"""`/admin/audit` and `/admin/settings`: the audit log, and the settings of the judge."""

from typing import Final

from starlette.responses import Response

from deemster.api.audit import list_audit_entries
from deemster.api.models.audit import AuditQuery
from deemster.settings.origins import origins, unknown_variables
from deemster.web.page import PageRequest, page_route


async def show_audit(page: PageRequest) -> Response:
    query = page.query(AuditQuery)
    found = await list_audit_entries(page.state, query)
    return page.render("admin/audit.html", found=found, query=query)


async def show_settings(page: PageRequest) -> Response:
    """As this process has them; the values of secrets are hidden."""
    return page.render(
        "admin/settings.html",
        settings_in_force=origins(page.state.settings),
        unknown=unknown_variables(),
    )


ROUTES: Final = [
    page_route("/admin/audit", show_audit),
    page_route("/admin/settings", show_settings),
]
