"""`/v1/webhooks`, `/v1/webhook-secret`: webhook deliveries and the secret that signs them."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api import webhooks as deliveries
from deemster.api.admission import per_minute, refuse
from deemster.api.app_state import app_state
from deemster.api.authentication import Caller, actor_of
from deemster.api.http.body import json_response
from deemster.api.http.errors import errors
from deemster.api.http.idempotent_replay import IDEMPOTENCY_KEY, respond_once
from deemster.api.http.paging import PageQuery
from deemster.api.lookups import visible_submission
from deemster.api.models.webhooks import (
    DeliveryOut,
    DeliveryPage,
    DeliveryQuery,
    WebhookSecretOut,
    secret_out,
)
from deemster.domain.account import Role
from deemster.pipeline.deliver.message import SigningKeys
from deemster.store import audit, webhooks
from deemster.store.pool import connection, transaction
from deemster.store.webhooks import DeliveryFilter

router = APIRouter(tags=["webhooks"])
PATH: Final = "/v1/webhooks"
SECRET_PATH: Final = "/v1/webhook-secret"  # noqa: S105 - a path


@router.get(
    "/v1/submissions/{id}/webhooks", response_model=DeliveryPage, responses=errors(404, 422)
)
async def list_submission_webhooks(
    request: Request,
    caller: Caller,
    id: str,  # noqa: A002
    query: Annotated[PageQuery, Query()],
) -> Response:
    """Lists the webhook deliveries of a submission, newest first."""
    async with connection(app_state(request).pool) as acquired:
        view = await visible_submission(acquired, caller, id)
        return json_response(
            await deliveries.delivery_page(acquired, DeliveryFilter(work=view.id), query)
        )


@router.get(PATH, response_model=DeliveryPage, responses=errors(404, 422))
async def list_webhooks(
    request: Request, caller: Caller, query: Annotated[DeliveryQuery, Query()]
) -> Response:
    """Lists webhook deliveries, newest first. Users who are not admins see only their own."""
    return json_response(await deliveries.list_webhooks(app_state(request), caller, query))


@router.get(PATH + "/{id}", response_model=DeliveryOut, responses=errors(404))
async def show_webhook(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Shows a webhook delivery and its attempts."""
    return json_response(await deliveries.show_webhook(app_state(request), caller, id))


@router.post(
    PATH + "/{id}/resend",
    status_code=202,
    response_model=DeliveryOut,
    openapi_extra=IDEMPOTENCY_KEY,
    responses=errors(404, 409, 422),
)
async def resend_webhook(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Sends a webhook again, as a new delivery. The limit per minute is that of submissions."""
    state = app_state(request)
    most = state.settings.submits_per_minute_user
    decision = await state.dependencies.rate_limiter.take(
        [per_minute("webhook.resend", caller.id, most)]
    )
    async with transaction(state.pool) as writing:

        async def create() -> Response:
            if caller.role is not Role.ADMIN:
                # Protects receivers, which are machines of other people (D2).
                refuse(decision, "You resend webhooks too fast")
            created = await deliveries.resend_webhook(writing, request, caller, id)
            return json_response(created, 202, {"Location": f"{PATH}/{created.id}"})

        return await respond_once(request, caller, writing, None, create)


@router.get(SECRET_PATH, response_model=WebhookSecretOut)
async def show_webhook_secret(request: Request, caller: Caller) -> Response:
    """Shows the secret that signs your webhooks."""
    state = app_state(request)
    async with connection(state.pool) as acquired:
        key = await webhooks.get_signing_key(acquired, caller.id)
    keys = SigningKeys(state.dependencies.secret)
    return json_response(secret_out(keys, caller.id, key))


@router.post(
    SECRET_PATH + "/rotate",
    response_model=WebhookSecretOut,
    openapi_extra=IDEMPOTENCY_KEY,
    responses=errors(422),
)
async def rotate_webhook_secret(request: Request, caller: Caller) -> Response:
    """Creates a new secret, which signs from now on. The old one also signs for a day."""
    state = app_state(request)
    keys = SigningKeys(state.dependencies.secret)
    async with transaction(state.pool) as writing:

        async def create() -> Response:
            await webhooks.rotate_signing_key(writing, caller.id)
            key = await webhooks.get_signing_key(writing, caller.id)
            actor = actor_of(request, caller)
            await audit.record(writing, actor, "webhook_secret.rotate", caller.id)
            return json_response(secret_out(keys, caller.id, key))

        # A retry must not rotate twice: the secret that receivers know would become invalid.
        return await respond_once(request, caller, writing, None, create)
