"""The keeper: rescues what workers left, finds what the queue lost, brings webhooks, trims."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from deemster.domain.errors import Unavailable
from deemster.pipeline.deliver.dispatcher import RetryPolicy, WebhookDispatcher
from deemster.pipeline.deliver.message import SigningKeys
from deemster.pipeline.deliver.sender import WebhookSender
from deemster.pipeline.outbox.reconcile import reconcile
from deemster.pipeline.queue.producer import Producer
from deemster.pipeline.verdict.rejudging_set import stage_on
from deemster.pipeline.verdict.retry import rescue
from deemster.settings import Settings
from deemster.store import outbox, submission_inserts, webhooks, workers
from deemster.store.pool import Pool, connection
from deemster.wiring.process import until_told
from deemster.wiring.secret import open_secret
from deemster.wiring.service import open_database, queue_url

log = structlog.get_logger()

RESCUE_S: Final = 1.0
RECONCILE_S: Final = 2.0
STAGE_S: Final = 2.0
RECOVERY_S: Final = 5.0
"""After an outage all leases look old: workers that live get the time to say so first."""
TRIM_S: Final = 60.0
KEPT_S: Final = 24 * 3600.0
WEBHOOKS_KEPT_S: Final = 30 * KEPT_S
TRIM_ROWS: Final = 10_000


async def run_keeper(settings: Settings) -> None:
    """The watchdog, and what is trimmed from time to time."""
    async with (
        open_database(settings, "keeper") as pool,
        Producer.open(queue_url(settings), settings.env) as producer,
    ):
        attempts = settings.run_attempts

        async def keep() -> None:
            async with asyncio.TaskGroup() as group:
                rescuing = again_and_again(
                    lambda: rescue(pool, most_attempts=attempts), RESCUE_S
                )
                group.create_task(rescuing)
                group.create_task(
                    again_and_again(lambda: reconcile(pool, producer), RECONCILE_S)
                )
                group.create_task(again_and_again(lambda: stage_on(pool), STAGE_S))
                group.create_task(again_and_again(lambda: trim(pool, producer), TRIM_S))
                group.create_task(deliver(settings, pool))

        await until_told(keep())


async def deliver(settings: Settings, pool: Pool) -> None:
    """Webhooks; the rest of the keeper does not wait for what only they need."""
    sender = WebhookSender(
        timeout_s=settings.webhook_timeout_s, allow_private=settings.webhook_allow_private
    )
    rules = RetryPolicy(
        attempts=settings.webhook_attempts,
        timeout_s=settings.webhook_timeout_s,
    )
    keys = SigningKeys(await open_secret(settings, pool))
    await WebhookDispatcher(pool, sender, keys, rules).run()


async def trim(pool: Pool, producer: Producer) -> int:
    """Q12: what is over is told by the events."""
    async with connection(pool) as acquired:
        await outbox.trim(acquired, older_than_s=KEPT_S, limit=TRIM_ROWS)
        await workers.trim(acquired, older_than_s=KEPT_S)
        await submission_inserts.trim(acquired)
        await webhooks.trim(acquired, older_than_s=WEBHOOKS_KEPT_S, limit=TRIM_ROWS)
    await producer.trim()
    return 0


async def again_and_again(work: Callable[[], Awaitable[int]], pause_s: float) -> None:
    """While there is something to do, without a pause. One duty that fails, whatever it is,
    must not keep the others from theirs: who would rescue runs then?
    """
    while True:
        found = 0
        try:
            found = await work()
        except Unavailable as fault:
            log.warning("keeper.unavailable", error=str(fault))
            await asyncio.sleep(RECOVERY_S)
        except Exception:
            log.exception("keeper.crashed")
            await asyncio.sleep(RECOVERY_S)
        await asyncio.sleep(0 if found else pause_s)
