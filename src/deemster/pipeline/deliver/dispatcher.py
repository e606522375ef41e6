"""Carries webhooks: at least once, a dead receiver in nobody's way, whatever dies (H2, I3)."""

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass
from random import SystemRandom
from typing import Final
from urllib.parse import urlsplit

import structlog

from deemster.domain.errors import Unavailable
from deemster.metrics import WEBHOOKS
from deemster.pipeline.deliver.message import body_of
from deemster.pipeline.deliver.sender import DeliveryFault, Outcome, WebhookSender
from deemster.pipeline.deliver.signing import SigningKeys, signed
from deemster.store import webhooks
from deemster.store.pool import Pool, connection, transaction
from deemster.store.webhooks import Claimed, DeliveryState

log = structlog.get_logger()

PLACES: Final = 50
"""Sent at once."""
PER_HOST: Final = 4
"""Of them to one receiver."""
PER_ACCOUNT: Final = PLACES // 2
"""Of them for one account: nobody's dead receivers, however many, take all places."""
CLAIM_MARGIN_S: Final = 5.0
"""Beyond the time of an exchange, to write down what became of it."""
LOOK_S: Final = 1.0
RECOVERY_S: Final = 5.0
JITTER: Final = 0.1
"""So that what failed together does not come again together."""
CHANCE: Final = SystemRandom()


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    attempts: int
    timeout_s: float
    backoff_s: float = 5.0

    def wait_s(self, number: int) -> float:
        """After attempt `number` has failed."""
        return self.backoff_s * 2.0 ** (number - 1) * (1 + CHANCE.uniform(0, JITTER))


class WebhookDispatcher:
    def __init__(
        self, pool: Pool, sender: WebhookSender, keys: SigningKeys, rules: RetryPolicy
    ) -> None:
        self._pool = pool
        self._sender = sender
        self._keys = keys
        self._rules = rules
        self._going = 0
        self._room = asyncio.Event()

    async def run(self) -> None:
        """For ever. Each step may be the last: claims run out, and another goes on."""
        async with asyncio.TaskGroup() as group:
            while True:
                self._room.clear()
                try:
                    await self._begin(group)
                except Unavailable as fault:
                    log.warning("webhook.unavailable", error=str(fault))
                    await asyncio.sleep(RECOVERY_S)
                except Exception:
                    log.exception("webhook.crashed")
                    await asyncio.sleep(RECOVERY_S)
                await self._wait()

    async def _begin(self, group: asyncio.TaskGroup) -> None:
        free = PLACES - self._going
        if not free:
            return
        claim_s = self._rules.timeout_s + CLAIM_MARGIN_S
        async with transaction(self._pool) as claiming:
            due = await webhooks.claim(
                claiming,
                most=free,
                per_host=PER_HOST,
                per_account=PER_ACCOUNT,
                claim_s=claim_s,
            )
        for claimed in due:
            self._going += 1
            group.create_task(self._carry(claimed))

    async def _wait(self) -> None:
        """Until there may be more to do: someone came back, or time has passed."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_S):
                await self._room.wait()

    async def _carry(self, claimed: Claimed) -> None:
        began = time.monotonic()
        try:
            outcome = await self._send(claimed)
            took_ms = round((time.monotonic() - began) * 1000)
            result = await asyncio.shield(self._record(claimed, outcome, took_ms))
        except Unavailable as fault:
            # The claim runs out and it is sent again, which its id tells the receiver.
            log.warning("webhook.not_recorded", deliveryId=claimed.id, error=str(fault))
            return
        except Exception as fault:  # the same, and no end to all that others are sent
            log.warning("webhook.not_recorded", deliveryId=claimed.id, exc_info=fault)
            return
        finally:
            self._going -= 1
            self._room.set()
        WEBHOOKS.labels(result).inc()
        log.info(
            "webhook.attempt",
            submissionId=claimed.submission.id,
            userId=claimed.submission.account,
            taskType="webhook",
            deliveryId=claimed.id,
            attempt=claimed.number,
            latencyMs=took_ms,
            result=result,
            # The host alone: what comes after it may hold someone's secret.
            host=urlsplit(claimed.url).hostname,
            status=outcome.status,
            error=outcome.fault,
        )

    async def _send(self, claimed: Claimed) -> Outcome:
        try:
            body = body_of(claimed.kind, claimed.submission)
            headers = signed(self._signing(claimed), claimed.id, claimed.at, body)
            return await self._sender.send(claimed.url, headers, body)
        except Exception as fault:  # whatever it is, it must not hold up all the others
            log.warning("webhook.fault", deliveryId=claimed.id, exc_info=fault)
            return Outcome(None, DeliveryFault.OURS)

    def _signing(self, claimed: Claimed) -> list[bytes]:
        generations = [claimed.generation]
        if claimed.overlaps:
            generations.append(claimed.generation - 1)
        return [self._keys.of(claimed.submission.account, each) for each in generations]

    async def _record(self, claimed: Claimed, outcome: Outcome, took_ms: int) -> str:
        state = DeliveryState.DELIVERED
        if not outcome.is_delivered:
            is_last = claimed.number >= self._rules.attempts
            state = DeliveryState.FAILED if is_last else DeliveryState.WAITING
        async with connection(self._pool) as recording:
            held = await webhooks.record(
                recording,
                claimed,
                state,
                status=outcome.status,
                error=outcome.fault,
                took_ms=took_ms,
                wait_s=self._rules.wait_s(claimed.number),
            )
        if not held:
            return "lost"
        return "retry" if state is DeliveryState.WAITING else str(state)
