"""Request and response models of webhook deliveries and of the secret that signs them (H2)."""

from datetime import datetime

from deemster.api.http.paging import Page, PageQuery
from deemster.api.models.field_types import ResponseModel, ShortText
from deemster.domain.ids import AccountId, kind_of
from deemster.domain.webhook import WebhookFormat
from deemster.pipeline.deliver.message import SigningKeys
from deemster.store.webhooks import Delivery, DeliveryState, SigningKey


class DeliveryQuery(PageQuery):
    state: DeliveryState | None = None
    user: ShortText | None = None
    """Id or name of the account. Users who are not admins see only their own deliveries."""


class AttemptOut(ResponseModel):
    number: int
    at: datetime
    status: int | None
    """HTTP status that the receiver answered; null if it did not answer."""
    error: str | None
    """Why the attempt failed; null if it succeeded."""
    took_ms: int


class DeliveryOut(ResponseModel):
    id: str
    """The receiver gets this id with every attempt, as the header `webhook-id`."""
    submission_id: str | None = None
    execution_id: str | None = None
    type: str
    format: WebhookFormat
    url: str
    state: DeliveryState
    tries: int
    next_try_at: datetime | None
    """When the next attempt is due; null if there will be none."""
    created_at: datetime
    ended_at: datetime | None
    resend_of: str | None
    """Id of the delivery that this one repeats."""
    attempts: list[AttemptOut]


class DeliveryPage(Page[DeliveryOut]):
    """A page of webhook deliveries."""


class PreviousSecret(ResponseModel):
    secret: str
    until: datetime
    """Deliveries are also signed with this secret until this time."""


class WebhookSecretOut(ResponseModel):
    secret: str
    """`whsec_` followed by the key in base64."""
    rotated_at: datetime | None
    """null if the secret was never rotated."""
    previous: PreviousSecret | None


def delivery_out(delivery: Delivery) -> DeliveryOut:
    return DeliveryOut(
        id=delivery.id,
        submission_id=delivery.work if kind_of(delivery.work) == "submission" else None,
        execution_id=delivery.work if kind_of(delivery.work) == "execution" else None,
        type=delivery.kind,
        format=delivery.format,
        url=delivery.url,
        state=delivery.state,
        tries=delivery.tries,
        next_try_at=delivery.next_at,
        created_at=delivery.created_at,
        ended_at=delivery.ended_at,
        resend_of=delivery.resend_of,
        attempts=[
            AttemptOut.model_validate(each, from_attributes=True) for each in delivery.attempts
        ],
    )


def secret_out(keys: SigningKeys, account: AccountId, key: SigningKey) -> WebhookSecretOut:
    previous = None
    if key.previous_until is not None:
        previous = PreviousSecret(
            secret=keys.formatted(account, key.generation - 1), until=key.previous_until
        )
    return WebhookSecretOut(
        secret=keys.formatted(account, key.generation),
        rotated_at=key.rotated_at,
        previous=previous,
    )
