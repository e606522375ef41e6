"""Webhook deliveries: claimed by one keeper at a time, with a record of each attempt (H2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from deemster.domain.execution import ExecutionView
from deemster.domain.ids import (
    DELIVERY,
    AccountId,
    DeliveryId,
    HengAccessKey,
    WorkId,
    kind_of,
    new_id,
    work_id,
)
from deemster.domain.submission import SubmissionView
from deemster.domain.webhook import WebhookFormat
from deemster.store import executions
from deemster.store.pool import Connection, rows_changed, statements
from deemster.store.submissions import view_from_row

SQL = statements("webhooks")
OVERLAP_S: Final = 24 * 3600.0
"""For this time after a rotation, the previous secret signs too."""


class DeliveryState(StrEnum):
    WAITING = "waiting"
    DELIVERED = "delivered"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ClaimedDelivery:
    """A delivery that this process may send, with its content."""

    id: DeliveryId
    kind: str
    url: str
    format: WebhookFormat
    number: int
    """Number of the attempt to be made, from 1."""
    at: datetime
    until: datetime
    """When the claim ends; it identifies the claim."""
    subject: SubmissionView | ExecutionView
    generation: int
    overlaps: bool
    """Whether the previous secret signs too."""
    heng: "HengCallback | None" = None
    """Set for the format of heng."""


@dataclass(frozen=True, slots=True)
class HengCallback:
    """What a callback of a heng task needs besides the submission."""

    access_key: HengAccessKey
    message_bytes: int
    """Most bytes of the compiler's messages."""
    cases: int
    jury: str | None
    """Digest of the jury's report; None: there is no verdict."""


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    number: int
    at: datetime
    status: int | None
    error: str | None
    took_ms: int


@dataclass(frozen=True, slots=True)
class Delivery:
    id: DeliveryId
    work: WorkId
    account: AccountId
    kind: str
    url: str
    format: WebhookFormat
    state: DeliveryState
    tries: int
    next_at: datetime | None
    created_at: datetime
    ended_at: datetime | None
    resend_of: DeliveryId | None
    attempts: Sequence[DeliveryAttempt]


@dataclass(frozen=True, slots=True)
class SigningKey:
    generation: int
    rotated_at: datetime | None
    previous_until: datetime | None


@dataclass(frozen=True, slots=True)
class DeliveryFilter:
    account: AccountId | None = None
    work: WorkId | None = None
    id: DeliveryId | None = None
    state: DeliveryState | None = None


async def claim(
    connection: Connection, *, limit: int, per_host: int, per_account: int, claim_s: float
) -> list[ClaimedDelivery]:
    rows = SQL.claim(
        connection,
        limit=limit,
        per_host=per_host,
        per_account=per_account,
        claim_s=float(claim_s),
        overlap_s=OVERLAP_S,
    )
    return [claimed_from_row(row) async for row in rows]


async def record_attempt(
    connection: Connection,
    claimed: ClaimedDelivery,
    state: DeliveryState,
    *,
    status: int | None,
    error: str | None,
    took_ms: int,
    wait_s: float = 0.0,
) -> bool:
    """Returns False if the claim had ended: then another process records the delivery."""
    number = await SQL.record_attempt(
        connection,
        id=claimed.id,
        claimed_until=claimed.until,
        state=state,
        wait_s=float(wait_s),
        at=claimed.at,
        status=status,
        error=error,
        took_ms=took_ms,
    )
    return number is not None


async def page(
    connection: Connection,
    filters: DeliveryFilter,
    *,
    before: DeliveryId | None = None,
    limit: int = 1,
) -> list[Delivery]:
    """Lists deliveries, newest first."""
    rows = SQL.page(
        connection,
        account=filters.account,
        work=filters.work,
        id=filters.id,
        state=filters.state,
        before=before,
        limit=limit,
    )
    return [delivery_from_row(row) async for row in rows]


async def resend(connection: Connection, delivery: DeliveryId) -> DeliveryId | None:
    """Adds a delivery of the same; None: it has not ended, or is being sent again already."""
    new = DeliveryId(new_id(DELIVERY))
    done = rows_changed(await SQL.resend(connection, id=new, resend_of=delivery))
    return new if done else None


async def get_signing_key(connection: Connection, account: AccountId) -> SigningKey:
    row = await SQL.get_signing_key(connection, account=account, overlap_s=OVERLAP_S)
    return SigningKey(row["generation"], row["rotated_at"], row["previous_until"])


async def rotate_signing_key(connection: Connection, account: AccountId) -> None:
    await SQL.rotate_signing_key(connection, account=account)


async def trim(connection: Connection, *, older_than_s: float, limit: int) -> None:
    await SQL.trim(connection, older_than_s=float(older_than_s), limit=limit)


def subject_of(row: Mapping[str, Any]) -> SubmissionView | ExecutionView:
    if kind_of(work_id(row["id"])) == "execution":
        return executions.view_from_row(row)
    return view_from_row(row)


def claimed_from_row(row: Mapping[str, Any]) -> ClaimedDelivery:
    return ClaimedDelivery(
        id=DeliveryId(row["delivery_id"]),
        kind=row["event_kind"],
        url=row["url"],
        format=WebhookFormat(row["format"]),
        number=row["tries"] + 1,
        at=row["claimed_at"],
        until=row["claimed_until"],
        subject=subject_of(row),
        generation=row["generation"],
        overlaps=row["overlaps"],
        heng=heng_from_row(row) if row["heng_key"] else None,
    )


def heng_from_row(row: Mapping[str, Any]) -> HengCallback:
    return HengCallback(
        HengAccessKey(row["heng_key"]), row["heng_message"], row["heng_cases"], row["heng_jury"]
    )


def delivery_from_row(row: Mapping[str, Any]) -> Delivery:
    state = DeliveryState(row["state"])
    resend_of = row["resend_of"]
    return Delivery(
        id=DeliveryId(row["id"]),
        work=work_id(row["work_id"]),
        account=AccountId(row["account_id"]),
        kind=row["kind"],
        url=row["url"],
        format=WebhookFormat(row["format"]),
        state=state,
        tries=row["tries"],
        next_at=row["available_at"] if state is DeliveryState.WAITING else None,
        created_at=row["created_at"],
        ended_at=row["ended_at"],
        resend_of=DeliveryId(resend_of) if resend_of else None,
        attempts=[DeliveryAttempt(*each) for each in row["attempts"]],
    )
