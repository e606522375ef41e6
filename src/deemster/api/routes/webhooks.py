"""`/v1/webhooks`, `/v1/webhook-secret`: what became of webhooks, and what signs them."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api.admission import a_minute, refuse
from deemster.api.authentication import Caller, actor_of, may_see
from deemster.api.http.idempotency_key import IDEMPOTENCY_KEY
from deemster.api.http.idempotent_replay import answer_once
from deemster.api.http.json_response import answer, faults
from deemster.api.http.paging import PageQuery, cut
from deemster.api.models.submission_requests import Plain
from deemster.api.models.webhooks import (
    DeliveryOut,
    DeliveryPage,
    WebhookSecretOut,
    delivery_out,
    secret_out,
)
from deemster.api.routes.submissions import visible, whose
from deemster.api.state import app_state
from deemster.domain.account import Account, Role
from deemster.domain.errors import Conflict, NotFound
from deemster.domain.ids import GENERATED_ID, DeliveryId
from deemster.pipeline.deliver.message import SigningKeys
from deemster.store import audit, webhooks
from deemster.store.pool import Connection, connection, transaction
from deemster.store.webhooks import Delivery, DeliveryFilter, DeliveryState

router = APIRouter(tags=["webhooks"])
PATH: Final = "/v1/webhooks"
SECRET_PATH: Final = "/v1/webhook-secret"  # noqa: S105 - a path
UNKEPT: Final = {"Cache-Control": "no-store"}


@router.get(
    "/v1/submissions/{id}/webhooks",
    response_model=DeliveryPage,
    responses=faults(401, 403, 404, 422, 429, 503),
)
async def list_of_submission(
    request: Request,
    caller: Caller,
    id: str,  # noqa: A002
    query: Annotated[PageQuery, Query()],
) -> Response:
    """What was sent of its end, newest first."""
    async with connection(app_state(request).pool) as acquired:
        view = await visible(acquired, caller, id)
        return answer(await page_of(acquired, DeliveryFilter(submission=view.id), query))


class DeliveryQuery(PageQuery):
    state: DeliveryState | None = None
    user: Plain | None = None
    """Its id or its name. Only admins see other people's."""


@router.get(PATH, response_model=DeliveryPage, responses=faults(401, 403, 404, 422, 429, 503))
async def list_them(
    request: Request, caller: Caller, query: Annotated[DeliveryQuery, Query()]
) -> Response:
    """Newest first. Who is no admin sees their own."""
    async with connection(app_state(request).pool) as acquired:
        account = await whose(acquired, caller, query.user)
        wanted = DeliveryFilter(account=account, state=query.state)
        return answer(await page_of(acquired, wanted, query))


@router.get(
    PATH + "/{id}", response_model=DeliveryOut, responses=faults(401, 403, 404, 429, 503)
)
async def show(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """One delivery, with each attempt."""
    async with connection(app_state(request).pool) as acquired:
        return answer(delivery_out(await own(acquired, caller, id)))


@router.post(
    PATH + "/{id}/resend",
    status_code=202,
    response_model=DeliveryOut,
    openapi_extra={"parameters": [IDEMPOTENCY_KEY]},
    responses=faults(401, 403, 404, 409, 422, 429, 503),
)
async def resend(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Sends it once more, as a delivery of its own; as often a minute as one may submit."""
    dependencies = app_state(request).dependencies
    most = dependencies.settings.submits_per_minute_user
    taken = await dependencies.rate_limiter.take([a_minute("webhook.resend", caller.id, most)])
    async with transaction(dependencies.pool) as writing:

        async def make() -> Response:
            if caller.role is not Role.ADMIN:
                # Receivers are other people's machines: nobody hammers them through us (D2).
                refuse(taken, "You send webhooks again too fast")
            old = await own(writing, caller, id)
            if old.state is DeliveryState.WAITING:
                raise Conflict("It is still being tried: look at next_try_at.")
            new = await webhooks.resend(writing, old.id)
            if new is None:
                raise Conflict("It is being sent again already: wait for that to end.")
            if caller.id != old.account:
                actor = actor_of(request, caller)
                await audit.record(writing, actor, "webhook.resend", old.id, resent_as=new)
            told = await own(writing, caller, new)
            return answer(delivery_out(told), 202, {"Location": f"{PATH}/{new}"})

        return await answer_once(request, caller, writing, None, make)


@router.get(SECRET_PATH, response_model=WebhookSecretOut, responses=faults(401, 403, 429, 503))
async def show_secret(request: Request, caller: Caller) -> Response:
    """What your webhooks are signed by."""
    dependencies = app_state(request).dependencies
    async with connection(dependencies.pool) as acquired:
        key = await webhooks.get_signing_key(acquired, caller.id)
    return answer(secret_out(SigningKeys(dependencies.secret), caller.id, key), headers=UNKEPT)


@router.post(
    SECRET_PATH + "/rotate",
    response_model=WebhookSecretOut,
    openapi_extra={"parameters": [IDEMPOTENCY_KEY]},
    responses=faults(401, 403, 422, 429, 503),
)
async def rotate_secret(request: Request, caller: Caller) -> Response:
    """A new secret signs from now on; for a day, the one before does too."""
    dependencies = app_state(request).dependencies
    async with transaction(dependencies.pool) as writing:

        async def make() -> Response:
            await webhooks.rotate_signing_key(writing, caller.id)
            key = await webhooks.get_signing_key(writing, caller.id)
            actor = actor_of(request, caller)
            await audit.record(writing, actor, "webhook_secret.rotate", caller.id)
            return answer(
                secret_out(SigningKeys(dependencies.secret), caller.id, key), headers=UNKEPT
            )

        # Rotated twice by a retry, the secret that receivers have would be good no more.
        return await answer_once(request, caller, writing, None, make)


async def page_of(
    acquired: Connection, wanted: DeliveryFilter, query: PageQuery
) -> DeliveryPage:
    before = DeliveryId(query.place) if query.place else None
    found = await webhooks.page(acquired, wanted, before=before, limit=query.limit + 1)
    page, cursor = cut(found, query.limit, lambda delivery: delivery.id)
    return DeliveryPage(items=[delivery_out(each) for each in page], next_cursor=cursor)


async def own(acquired: Connection, caller: Account, delivery: str) -> Delivery:
    """Someone else's is not there at all, as with submissions (A11)."""
    found: list[Delivery] = []
    if GENERATED_ID.fullmatch(delivery):
        found = await webhooks.page(acquired, DeliveryFilter(id=DeliveryId(delivery)))
    if not found or not may_see(caller, found[0].account):
        raise NotFound("There is no such webhook, or it is not yours.")
    return found[0]
