"""Assembles the keeper role: rescues jobs, sends webhooks, compares programs, trims tables."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from deemster.domain.errors import Unavailable
from deemster.domain.retry_policy import MaxTries
from deemster.pipeline.deliver.heng_callbacks import HengCallbacks
from deemster.pipeline.deliver.message import SigningKeys
from deemster.pipeline.deliver.sender import WebhookSender
from deemster.pipeline.deliver.webhook_delivery import RetryPolicy, WebhookDelivery
from deemster.pipeline.outbox.reconcile import reconcile
from deemster.pipeline.queue.producer import Producer
from deemster.pipeline.similarity.delayed_comparison import DelayedComparison
from deemster.pipeline.similarity.update import SimilarityUpdate
from deemster.pipeline.verdict.rejudging_set import continue_staging
from deemster.pipeline.verdict.retry import rescue
from deemster.programs.build.languages import load_catalogue
from deemster.programs.tokenizer import Tokenizer
from deemster.settings import Settings
from deemster.store import (
    analyses,
    client_files,
    executions,
    frozen_clients,
    heng,
    judge_hosts,
    outbox,
    remote_tasks,
    submission_inserts,
    webhooks,
    workers,
)
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool, connection
from deemster.wiring.process import run_until_signal
from deemster.wiring.resources import (
    open_artifacts,
    open_database,
    queue_url,
    transmitted_tasks,
)
from deemster.wiring.secret import open_secret

log = structlog.get_logger()

RESCUE_S: Final = 1.0
FROZEN_S: Final = 1.0
RECONCILE_S: Final = 2.0
STAGE_S: Final = 2.0
RECOVERY_S: Final = 5.0
"""After an outage all leases look stale: workers get this time to renew them first."""
SIMILARITY_S: Final = 10.0
"""All fingerprints of a problem are read each time: new submissions wait for each other."""
TRIM_S: Final = 60.0
CLEAN_UP_S: Final = 3600.0
KEPT_S: Final = 24 * 3600.0
WEBHOOKS_KEPT_S: Final = 30 * KEPT_S
TRIM_ROWS: Final = 10_000
DELETED_AT_ONCE: Final = 500


async def run_keeper(settings: Settings) -> None:
    async with (
        open_database(settings, "keeper") as pool,
        Producer.open(
            queue_url(settings), settings.env, transmitted_tasks(settings)
        ) as producer,
    ):
        max_tries = MaxTries(settings.run_attempts, 1 + settings.stage_retries)
        artifacts = open_artifacts(settings)

        async def keep() -> None:
            async with asyncio.TaskGroup() as group:
                rescuing = repeat(lambda: rescue(pool, max_tries=max_tries), RESCUE_S)
                group.create_task(rescuing)
                group.create_task(repeat(lambda: end_frozen_clients(pool), FROZEN_S))
                group.create_task(repeat(lambda: reconcile(pool, producer), RECONCILE_S))
                group.create_task(repeat(lambda: continue_staging(pool), STAGE_S))
                group.create_task(repeat(lambda: trim(pool, producer), TRIM_S))
                group.create_task(repeat(lambda: clean_up(artifacts), CLEAN_UP_S))
                group.create_task(
                    repeat(
                        lambda: delete_executions(pool, settings.execution_keep_hours), TRIM_S
                    )
                )
                group.create_task(
                    repeat(
                        lambda: delete_client_files(pool, settings.client_file_keep_hours),
                        TRIM_S,
                    )
                )
                group.create_task(deliver(settings, pool, artifacts))
                if settings.similarity:
                    group.create_task(compare_submissions(settings, artifacts))

        await run_until_signal(keep())


async def deliver(settings: Settings, pool: Pool, artifacts: Artifacts) -> None:
    """Opens the secret itself, so that the other duties do not wait for it."""
    sender = WebhookSender(allow_private=settings.webhook_allow_private)
    policy = RetryPolicy(
        attempts=settings.webhook_attempts,
        timeout_s=settings.webhook_timeout_s,
    )
    keys = SigningKeys(await open_secret(settings, pool))
    signing_secret = keys.secret if settings.heng_sign_callbacks else None
    heng_callbacks = HengCallbacks(pool, artifacts, signing_secret)
    await WebhookDelivery(pool, sender, keys, policy, heng_callbacks).run()


async def compare_submissions(settings: Settings, artifacts: Artifacts) -> None:
    """What a crash of the database undoes is done again, so no commit waits for the disk."""
    async with (
        open_database(settings, "keeper", durable=False) as pool,
        Tokenizer() as tokenizer,
    ):
        update = SimilarityUpdate(pool, artifacts, load_catalogue(), tokenizer)
        await repeat(DelayedComparison(pool, update.run).run, SIMILARITY_S)


async def end_frozen_clients(pool: Pool) -> int:
    """A machine that froze in the middle of a transaction must not keep its locks."""
    async with connection(pool) as acquired:
        for name in await frozen_clients.end_frozen(acquired):
            log.warning("database.frozen_client_ended", client=name)
    return 0


async def trim(pool: Pool, producer: Producer) -> int:
    """Deletes rows that are no longer needed (Q12)."""
    async with connection(pool) as acquired:
        await outbox.trim(acquired, older_than_s=KEPT_S, limit=TRIM_ROWS)
        await workers.trim(acquired, older_than_s=KEPT_S)
        await judge_hosts.trim_nonces(acquired)
        await remote_tasks.trim(acquired, older_than_s=WEBHOOKS_KEPT_S, limit=TRIM_ROWS)
        await submission_inserts.trim(acquired)
        await heng.trim_nonces(acquired)
        await webhooks.trim(acquired, older_than_s=WEBHOOKS_KEPT_S, limit=TRIM_ROWS)
    await producer.trim()
    return 0


async def delete_executions(pool: Pool, kept_hours: float) -> int:
    """Also deletes requests for analyses, whose results stay with what was analysed."""
    older_than_s, limit = kept_hours * 3600, DELETED_AT_ONCE
    async with connection(pool) as acquired:
        deleted = await executions.delete_ended(
            acquired, older_than_s=older_than_s, limit=limit
        )
        return deleted + await analyses.delete_ended_requests(
            acquired, older_than_s=older_than_s, limit=limit
        )


async def delete_client_files(pool: Pool, kept_hours: float) -> int:
    async with connection(pool) as acquired:
        return await client_files.delete_unused(
            acquired, unused_s=kept_hours * 3600, limit=DELETED_AT_ONCE
        )


async def clean_up(artifacts: Artifacts) -> int:
    await artifacts.remove_partial_files()
    return 0


async def repeat(work: Callable[[], Awaitable[int]], pause_s: float) -> None:
    """Repeats a duty, without a pause while it finds work. A duty that fails does not stop
    the others.
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
