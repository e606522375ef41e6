"""What is said of webhooks: each delivery with its attempts, and the secret that signs (H2)."""

from datetime import datetime

from deemster.api.models.kinds import ResponseModel
from deemster.domain.ids import AccountId
from deemster.pipeline.deliver.message import SigningKeys
from deemster.store.webhooks import Delivery, DeliveryAttempt, DeliveryState, SigningKey


class AttemptOut(ResponseModel):
    number: int
    at: datetime
    status: int | None
    """What the receiver answered; null: it did not."""
    error: str | None
    """Why it failed, in a word; null: it did not."""
    took_ms: int


class DeliveryOut(ResponseModel):
    id: str
    """The `webhook-id` that its receiver sees, with every attempt."""
    submission_id: str
    type: str
    url: str
    state: DeliveryState
    tries: int
    next_try_at: datetime | None
    """While it waits; a try that is being made was due at this time."""
    created_at: datetime
    ended_at: datetime | None
    resend_of: str | None
    attempts: list[AttemptOut]


class DeliveryPage(ResponseModel):
    items: list[DeliveryOut]
    next_cursor: str | None
    """Where to go on; null: there are no more."""


class PreviousSecret(ResponseModel):
    secret: str
    until: datetime
    """It signs too, until then."""


class WebhookSecretOut(ResponseModel):
    secret: str
    """`whsec_` and the key in base64."""
    rotated_at: datetime | None
    """null: it is the first one."""
    previous: PreviousSecret | None


def delivery_out(delivery: Delivery) -> DeliveryOut:
    return DeliveryOut(
        id=delivery.id,
        submission_id=delivery.submission,
        type=delivery.kind,
        url=delivery.url,
        state=delivery.state,
        tries=delivery.tries,
        next_try_at=delivery.next_at,
        created_at=delivery.created_at,
        ended_at=delivery.ended_at,
        resend_of=delivery.resend_of,
        attempts=[attempt_out(each) for each in delivery.attempts],
    )


def attempt_out(attempt: DeliveryAttempt) -> AttemptOut:
    return AttemptOut(
        number=attempt.number,
        at=attempt.at,
        status=attempt.status,
        error=attempt.error,
        took_ms=attempt.took_ms,
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
