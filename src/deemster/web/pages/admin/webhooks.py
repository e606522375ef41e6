"""`/admin/webhooks`: deliveries with their attempts, and resend (H2, O8)."""

from typing import TYPE_CHECKING, Final

from starlette.responses import Response

from deemster.api.models.webhooks import DeliveryPage, DeliveryQuery
from deemster.api.webhooks import list_webhooks, resend_as_admin, show_webhook
from deemster.store.webhooks import DeliveryState
from deemster.web.forms import SHOWN
from deemster.web.page import PageRequest, page_route

if TYPE_CHECKING:
    from deemster.domain.errors import DeemsterError

WEBHOOKS: Final = "/admin/webhooks"
WEBHOOK: Final = WEBHOOKS + "/{id}"


async def show_deliveries(page: PageRequest) -> Response:
    error: DeemsterError | None = None
    found = DeliveryPage(items=[], next_cursor=None)
    try:
        found = await list_webhooks(page.state, page.account, page.query(DeliveryQuery))
    except SHOWN as refusal:
        error = refusal
    return page.render(
        "admin/webhooks.html",
        found=found,
        given=page.request.query_params,
        states=list(DeliveryState),
        error=error,
    )


async def show_delivery(page: PageRequest) -> Response:
    found = await show_webhook(page.state, page.account, page.parameter("id"))
    return page.render("admin/webhook.html", found=found)


async def resend(page: PageRequest) -> Response:
    new = await resend_as_admin(page.request, page.account, page.parameter("id"))
    return page.redirect(f"{WEBHOOKS}/{new.id}?done=resent")


ROUTES: Final = [
    page_route(WEBHOOKS, show_deliveries),
    page_route(WEBHOOK, show_delivery),
    page_route(WEBHOOK + "/resend", resend, "POST"),
]
