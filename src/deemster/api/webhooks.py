"""Lists, shows and resends webhook deliveries, for routes and pages (H2)."""

from starlette.requests import Request

from deemster.api.app_state import AppState, app_state
from deemster.api.authentication import actor_of
from deemster.api.http.paging import PageQuery, cut
from deemster.api.lookups import account_filter, may_see
from deemster.api.models.webhooks import (
    DeliveryOut,
    DeliveryPage,
    DeliveryQuery,
    delivery_out,
)
from deemster.domain.account import Account
from deemster.domain.errors import Conflict, NotFound
from deemster.domain.ids import GENERATED_ID, DeliveryId
from deemster.store import audit, webhooks
from deemster.store.pool import Connection, connection, transaction
from deemster.store.webhooks import Delivery, DeliveryFilter, DeliveryState


async def list_webhooks(state: AppState, caller: Account, query: DeliveryQuery) -> DeliveryPage:
    """Newest first. Users who are not admins see only their own."""
    async with connection(state.pool) as acquired:
        account = await account_filter(acquired, caller, query.user)
        wanted = DeliveryFilter(account=account, state=query.state)
        return await delivery_page(acquired, wanted, query)


async def show_webhook(state: AppState, caller: Account, delivery: str) -> DeliveryOut:
    async with connection(state.pool) as acquired:
        return delivery_out(await visible_delivery(acquired, caller, delivery))


async def resend_webhook(
    writing: Connection, request: Request, caller: Account, delivery: str
) -> DeliveryOut:
    """Sends a webhook again, as a new delivery."""
    old = await visible_delivery(writing, caller, delivery)
    if old.state is DeliveryState.WAITING:
        raise Conflict("The delivery is still being tried: see next_try_at.")
    new = await webhooks.resend(writing, old.id)
    if new is None:
        raise Conflict("The webhook is already being resent: wait until that ends.")
    if caller.id != old.account:
        actor = actor_of(request, caller)
        await audit.record(writing, actor, "webhook.resend", old.id, resent_as=new)
    return delivery_out(await visible_delivery(writing, caller, new))


async def resend_as_admin(request: Request, caller: Account, delivery: str) -> DeliveryOut:
    """Without a limit per minute, in a transaction of its own."""
    async with transaction(app_state(request).pool) as writing:
        return await resend_webhook(writing, request, caller, delivery)


async def delivery_page(
    acquired: Connection, wanted: DeliveryFilter, query: PageQuery
) -> DeliveryPage:
    before = DeliveryId(query.last_id) if query.last_id else None
    found = await webhooks.page(acquired, wanted, before=before, limit=query.limit + 1)
    page, cursor = cut(found, query.limit, lambda delivery: delivery.id)
    return DeliveryPage(items=[delivery_out(each) for each in page], next_cursor=cursor)


async def visible_delivery(acquired: Connection, caller: Account, delivery: str) -> Delivery:
    """Does not reveal whether a delivery of another account exists (A11)."""
    found: list[Delivery] = []
    if GENERATED_ID.fullmatch(delivery):
        found = await webhooks.page(acquired, DeliveryFilter(id=DeliveryId(delivery)))
    if not found or not may_see(caller, found[0].account):
        raise NotFound("There is no such webhook, or it belongs to another account.")
    return found[0]
