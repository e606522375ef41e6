"""`/admin/rejudgings`: judge a set again on trial, compare, then apply or drop it."""

from typing import Final

from starlette.responses import Response

from deemster.api.http.paging import PageQuery
from deemster.api.models.rejudgings import RejudgingIn
from deemster.api.rejudgings import (
    apply_rejudging,
    create_rejudging,
    drop_rejudging,
    list_changes,
    list_rejudgings,
    show_rejudging,
)
from deemster.domain.errors import DeemsterError
from deemster.domain.verdict import Verdict
from deemster.web.forms import SHOWN, parse_fields
from deemster.web.page import PageRequest, page_route

REJUDGINGS: Final = "/admin/rejudgings"
REJUDGING: Final = REJUDGINGS + "/{id}"
FIELDS: Final = ("problem", "verdict", "language", "user", "reason")


async def show_rejudgings(page: PageRequest) -> Response:
    return await list_page(page)


async def list_page(page: PageRequest, error: DeemsterError | None = None) -> Response:
    query = PageQuery() if page.form else page.query(PageQuery)
    return page.render(
        "admin/rejudgings.html",
        found=await list_rejudgings(page.state, query),
        form=page.form,
        verdicts=list(Verdict),
        languages=[each.id for each in page.state.dependencies.catalogue],
        error=error,
    )


async def create(page: PageRequest) -> Response:
    try:
        asked = parse_fields(
            RejudgingIn,
            **{name: page.form.get(name, "").strip() for name in FIELDS},
            outdated="outdated" in page.form,
        )
        created = await create_rejudging(page.request, page.account, asked)
    except SHOWN as refusal:
        return await list_page(page, refusal)
    return page.redirect(f"{REJUDGINGS}/{created}")


async def show_set(page: PageRequest) -> Response:
    rejudging = page.parameter("id")
    query = page.query(PageQuery)
    return page.render(
        "admin/rejudging.html",
        found=await show_rejudging(page.state, rejudging),
        changes=await list_changes(page.state, rejudging, query),
    )


async def apply(page: PageRequest) -> Response:
    done = await apply_rejudging(page.request, page.account, page.parameter("id"))
    return page.redirect(f"{REJUDGINGS}/{done.id}")


async def drop(page: PageRequest) -> Response:
    done = await drop_rejudging(page.request, page.account, page.parameter("id"))
    return page.redirect(f"{REJUDGINGS}/{done.id}")


ROUTES: Final = [
    page_route(REJUDGINGS, show_rejudgings),
    page_route(REJUDGINGS, create, "POST"),
    page_route(REJUDGING, show_set),
    page_route(REJUDGING + "/apply", apply, "POST"),
    page_route(REJUDGING + "/drop", drop, "POST"),
]
