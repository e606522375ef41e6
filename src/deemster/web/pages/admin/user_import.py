"""`/admin/user-import`: accounts of a class list, with their log-ins to hand out (K4)."""

import io
from typing import Final

from starlette.responses import Response

from deemster.api.models.user_import import UserImportQuery
from deemster.api.user_import.documents import CSV_TYPE, HTML_TYPE, to_csv, to_sheet
from deemster.api.user_import.upload import (
    MAX_BYTES,
    SHEET_POLICY,
    import_list,
    prepare_list,
)
from deemster.domain.errors import DeemsterError, Refused
from deemster.web.forms import SHOWN, parse_fields
from deemster.web.page import PageRequest, page_route
from deemster.web.upload import read_upload

IMPORT: Final = "/admin/user-import"
AS_FILE: Final = {"Content-Disposition": 'attachment; filename="log-ins.csv"'}


async def show_form(page: PageRequest) -> Response:
    return form_page(page)


def form_page(page: PageRequest, error: DeemsterError | None = None) -> Response:
    return page.render("admin/user_import.html", error=error)


async def import_users(page: PageRequest) -> Response:
    """The answer is the only place that shows the log-ins."""
    try:
        content = io.BytesIO()
        form = await read_upload(page, content, MAX_BYTES)
        if not form.size_bytes:
            raise Refused("Choose a CSV file with one account per line.")
        query = parse_fields(
            UserImportQuery,
            credentials=form.fields.get("credentials", ""),
            link_days=form.fields.get("link_days", ""),
            renew="renew" in form.fields,
        )
        prepared = await prepare_list(page.request, content.getvalue(), query)
        done = await import_list(page.request, page.account, prepared)
    except SHOWN as refusal:
        return form_page(page, refusal)
    if form.fields.get("output") == "sheet":
        sheet = to_sheet(done.users, prepared.plan.base_url, prepared.plan.link_days)
        return Response(sheet, headers=SHEET_POLICY, media_type=HTML_TYPE)
    return Response(to_csv(done.users), headers=AS_FILE, media_type=CSV_TYPE)


ROUTES: Final = [
    page_route(IMPORT, show_form),
    page_route(IMPORT, import_users, "POST", is_upload=True),
]
