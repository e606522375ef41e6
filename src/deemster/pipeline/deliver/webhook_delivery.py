"""Sends due webhooks, at least once each; a slow receiver does not delay others (H2, I3)."""

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass
from random import SystemRandom
from typing import Final
from urllib.parse import urlsplit

import structlog

from deemster.domain.errors import Unavailable
from deemster.domain.execution import ExecutionView
from deemster.domain.webhook import WebhookFormat
from deemster.metrics import WEBHOOKS
from deemster.pipeline.deliver.heng_callbacks import HengCallbacks
from deemster.pipeline.deliver.heng_result import STATES
from deemster.pipeline.deliver.judge0_format import CALLBACK_TIMEOUT_S, callback_body
from deemster.pipeline.deliver.message import SigningKeys, body_of, signature_headers
from deemster.pipeline.deliver.sender import (
    DeliveryFault,
    SendOutcome,
    WebhookRequest,
    WebhookSender,
)
from deemster.store import executions, webhooks
from deemster.store.pool import Pool, connection, transaction
from deemster.store.webhooks import ClaimedDelivery, DeliveryState
from deemster.telemetry import id_field

log = structlog.get_logger()

MAX_CONCURRENT: Final = 50
PER_HOST: Final = 4
"""Most concurrent deliveries to one host."""
PER_ACCOUNT: Final = MAX_CONCURRENT // 2
"""Most concurrent deliveries for one account, so that no account takes all."""
CLAIM_MARGIN_S: Final = 5.0
"""Time to record the outcome, beyond the timeout of the request."""
POLL_S: Final = 1.0
RECOVERY_S: Final = 5.0
JITTER: Final = 0.1
"""Random part of the backoff, so that failed deliveries do not come again together."""
RESULT_ATTEMPTS: Final = 10
"""Least attempts for the result of a heng task, which its client can't ask for: over an hour.
"""
RANDOM: Final = SystemRandom()


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    attempts: int
    timeout_s: float
    backoff_s: float = 5.0

    def wait_s(self, number: int) -> float:
        """Pause after the failed attempt `number`."""
        return self.backoff_s * 2.0 ** (number - 1) * (1 + RANDOM.uniform(0, JITTER))


class WebhookDelivery:
    def __init__(
        self,
        pool: Pool,
        sender: WebhookSender,
        keys: SigningKeys,
        policy: RetryPolicy,
        heng: HengCallbacks,
    ) -> None:
        self._pool = pool
        self._heng = heng
        self._sender = sender
        self._keys = keys
        self._policy = policy
        self._sending = 0
        self._capacity_freed = asyncio.Event()

    async def run(self) -> None:
        """Runs for ever. If a keeper dies, its claims expire and another keeper takes over."""
        async with asyncio.TaskGroup() as group:
            while True:
                self._capacity_freed.clear()
                try:
                    await self._start_due(group)
                except Unavailable as fault:
                    log.warning("webhook.unavailable", error=str(fault))
                    await asyncio.sleep(RECOVERY_S)
                except Exception:
                    log.exception("webhook.crashed")
                    await asyncio.sleep(RECOVERY_S)
                await self._wait()

    async def _start_due(self, group: asyncio.TaskGroup) -> None:
        free = MAX_CONCURRENT - self._sending
        if not free:
            return
        claim_s = self._policy.timeout_s + CLAIM_MARGIN_S
        async with transaction(self._pool) as claiming:
            due = await webhooks.claim(
                claiming,
                limit=free,
                per_host=PER_HOST,
                per_account=PER_ACCOUNT,
                claim_s=claim_s,
            )
        for claimed in due:
            self._sending += 1
            group.create_task(self._deliver(claimed))

    async def _wait(self) -> None:
        """Waits until a delivery has ended, or for POLL_S."""
        with suppress(TimeoutError):
            async with asyncio.timeout(POLL_S):
                await self._capacity_freed.wait()

    async def _deliver(self, claimed: ClaimedDelivery) -> None:
        began = time.monotonic()
        try:
            outcome = await self._send(claimed)
            took_ms = round((time.monotonic() - began) * 1000)
            result = await asyncio.shield(self._record(claimed, outcome, took_ms))
        except Unavailable as fault:
            # The claim expires and the webhook is sent again; its id lets the receiver drop it.
            log.warning("webhook.not_recorded", deliveryId=claimed.id, error=str(fault))
            return
        except Exception as fault:  # the same; other deliveries go on
            log.warning("webhook.not_recorded", deliveryId=claimed.id, exc_info=fault)
            return
        finally:
            self._sending -= 1
            self._capacity_freed.set()
        WEBHOOKS.labels(result).inc()
        log.info(
            "webhook.attempt",
            **id_field(claimed.subject.id),
            userId=claimed.subject.account,
            taskType="webhook",
            deliveryId=claimed.id,
            attempt=claimed.number,
            latencyMs=took_ms,
            result=result,
            # Only the host: the rest of the URL may hold a secret.
            host=urlsplit(claimed.url).hostname,
            status=outcome.status,
            error=outcome.fault,
        )

    async def _send(self, claimed: ClaimedDelivery) -> SendOutcome:
        try:
            return await self._sender.send(await self._request_of(claimed))
        except Unavailable:
            raise
        except Exception as fault:  # one delivery must not stop the others
            log.warning("webhook.fault", deliveryId=claimed.id, exc_info=fault)
            return SendOutcome(None, DeliveryFault.OURS)

    async def _request_of(self, claimed: ClaimedDelivery) -> WebhookRequest:
        subject, timeout_s = claimed.subject, self._policy.timeout_s
        if claimed.format is WebhookFormat.HENG:
            return await self._heng.request_of(claimed, timeout_s)
        if claimed.format is WebhookFormat.JUDGE0:
            assert isinstance(subject, ExecutionView), "submissions have no callbacks"
            async with connection(self._pool) as reading:
                # With the files that it returned, which the claim does not read.
                subject = await executions.get(reading, subject.id) or subject
                output = await executions.whole_output(reading, subject.id)
            method, body = "PUT", callback_body(subject, output)
            timeout_s = min(timeout_s, CALLBACK_TIMEOUT_S)
        else:
            method, body = "POST", body_of(claimed.kind, subject)
        keys = self._signing_keys(claimed)
        headers = signature_headers(keys, claimed.id, claimed.at, body)
        return WebhookRequest(method, claimed.url, headers, body, timeout_s)

    def _signing_keys(self, claimed: ClaimedDelivery) -> list[bytes]:
        generations = [claimed.generation]
        if claimed.overlaps:
            generations.append(claimed.generation - 1)
        return [self._keys.key_of(claimed.subject.account, each) for each in generations]

    def _most_attempts(self, claimed: ClaimedDelivery) -> int:
        is_result = claimed.format is WebhookFormat.HENG and claimed.kind not in STATES
        return max(self._policy.attempts, RESULT_ATTEMPTS if is_result else 0)

    async def _record(
        self, claimed: ClaimedDelivery, outcome: SendOutcome, took_ms: int
    ) -> str:
        state = DeliveryState.DELIVERED
        if not outcome.is_delivered:
            is_last = claimed.number >= self._most_attempts(claimed)
            state = DeliveryState.FAILED if is_last else DeliveryState.WAITING
        async with connection(self._pool) as recording:
            held = await webhooks.record_attempt(
                recording,
                claimed,
                state,
                status=outcome.status,
                error=outcome.fault,
                took_ms=took_ms,
                wait_s=self._policy.wait_s(claimed.number),
            )
        if not held:
            return "lost"
        return "retry" if state is DeliveryState.WAITING else str(state)
