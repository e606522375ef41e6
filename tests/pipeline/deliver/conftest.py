"""Finished submissions with webhooks, and a running delivery of webhooks."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import structlog
from structlog.typing import EventDict

from deemster.domain.ids import AccountId, SubmissionId
from deemster.pipeline.deliver import webhook_delivery
from deemster.pipeline.deliver.heng_callbacks import HengCallbacks
from deemster.pipeline.deliver.message import SigningKeys
from deemster.pipeline.deliver.sender import WebhookSender
from deemster.pipeline.deliver.webhook_delivery import RetryPolicy, WebhookDelivery
from deemster.pipeline.verdict.attempt import settle
from deemster.store import webhooks
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool, connection
from deemster.store.webhooks import Delivery, DeliveryFilter, DeliveryState
from tests.builders import (
    judged,
    make_artifacts,
    make_submission,
    queue_submission,
    start_submission,
)
from tests.waiting import until

KEYS = SigningKeys(b"a secret for tests")
POLL_S = 0.05
"""The delivery of the service looks for due webhooks once a second."""


@pytest.fixture
def log_lines() -> Iterator[Sequence[EventDict]]:
    capture = structlog.testing.LogCapture()
    structlog.configure(processors=[structlog.contextvars.merge_contextvars, capture])
    yield capture.entries
    structlog.reset_defaults()


@pytest.fixture
def artifacts(tmp_path: Path) -> Artifacts:
    return make_artifacts(tmp_path / "artifacts")


End = Callable[..., Awaitable[SubmissionId]]


@pytest.fixture
def end(pool: Pool, artifacts: Artifacts) -> End:
    """Makes a judged submission with a webhook to the given URL."""

    async def make(url: str, account: AccountId | None = None) -> SubmissionId:
        submission = await make_submission(pool, account, webhook_url=url)
        await queue_submission(pool, submission)
        running = await start_submission(pool, submission)
        await settle(pool, artifacts, running, judged())
        return submission

    return make


@asynccontextmanager
async def delivering(
    pool: Pool,
    *,
    keepers: int = 1,
    attempts: int = 3,
    backoff_s: float = 0.01,
    timeout_s: float = 20,
    signing_secret: bytes | None = None,
    **sending: Any,
) -> AsyncIterator[None]:
    rules = RetryPolicy(attempts=attempts, backoff_s=backoff_s, timeout_s=timeout_s)
    sender = WebhookSender(**{"allow_private": True, **sending})
    # The reports of these tests are small, so they are in the database.
    heng = HengCallbacks(pool, make_artifacts(Path("unused")), signing_secret)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(webhook_delivery, "POLL_S", POLL_S)
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(WebhookDelivery(pool, sender, KEYS, rules, heng).run())
                for _ in range(keepers)
            ]
            yield
            for task in tasks:
                task.cancel()


async def deliveries(pool: Pool, submission: SubmissionId | None = None) -> list[Delivery]:
    async with connection(pool) as acquired:
        return await webhooks.page(acquired, DeliveryFilter(work=submission), limit=1000)


async def only(pool: Pool, submission: SubmissionId) -> Delivery:
    (delivery,) = await deliveries(pool, submission)
    return delivery


async def ended(pool: Pool, submission: SubmissionId) -> Delivery:
    """Waits until the delivery has ended."""
    await until_ended(pool, submission)
    return await only(pool, submission)


async def until_ended(pool: Pool, submission: SubmissionId | None = None) -> None:
    async def have_ended() -> bool:
        found = await deliveries(pool, submission)
        return bool(found) and all(each.state is not DeliveryState.WAITING for each in found)

    await until(have_ended)
