"""Makes the calls of an evaluation: each is reserved, sent, settled, and never paid twice."""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Final, Protocol

import structlog

from deemster.domain.ids import AccountId
from deemster.domain.model_tier import NOTHING, Micros, ModelTier, TierName, amount_of
from deemster.pipeline.evaluate.circuit_breaker import CircuitBreaker
from deemster.pipeline.evaluate.model_endpoint import (
    CallFailure,
    CallFault,
    Completion,
    ModelEndpoint,
    request_body,
)
from deemster.pipeline.evaluate.policy import Outcome
from deemster.pipeline.evaluate.prompt import Prompt, mark_of
from deemster.store import model_calls
from deemster.store.model_calls import (
    CallKey,
    HeldByOther,
    OverBudget,
    Reservation,
    Reserved,
    SettledCall,
    StoredReply,
)
from deemster.store.pool import Pool, connection, transaction
from deemster.telemetry import id_field

log = structlog.get_logger()

TASK_TYPE: Final = "submission:evaluate_ai"
MIN_CALL_S: Final = 1.0
"""With less time, a call is not begun."""
CLAIM_MARGIN_S: Final = 5.0
"""Time to settle a call, beyond its timeout."""
FIRST_PAUSE_S: Final = 0.5
"""Shortest wait after status 429; it doubles each time, whatever Retry-After says."""
REQUEST_OVERHEAD: Final = 200
"""Tokens that an endpoint may add to a request."""

OUTCOMES: Final = {
    CallFault.TIMEOUT: Outcome.TIMEOUT,
    CallFault.UNREACHABLE: Outcome.UNREACHABLE,
    CallFault.BROKEN: Outcome.UNREACHABLE,
    CallFault.SERVER_ERROR: Outcome.SERVER_ERROR,
    CallFault.RATE_LIMITED: Outcome.RATE_LIMITED,
    CallFault.REFUSED: Outcome.REFUSED,
}
PERHAPS_BILLED: Final = frozenset({CallFault.TIMEOUT, CallFault.BROKEN})
"""The model may have answered, so the whole reserved amount is charged."""
OF_THE_TIER: Final = frozenset(OUTCOMES) - {CallFault.RATE_LIMITED, CallFault.REFUSED}
"""Failures that open the circuit."""


class Ledger(Protocol):
    async def reserve(self, key: CallKey, worst: Micros, *, claim_s: float) -> Reservation: ...
    async def settle(self, key: CallKey, reserved: Reserved, result: SettledCall) -> None: ...


class DatabaseLedger:
    """Keeps the calls for one account's submission in the database."""

    def __init__(self, pool: Pool, account: AccountId) -> None:
        self._pool = pool
        self._account = account

    async def reserve(self, key: CallKey, worst: Micros, *, claim_s: float) -> Reservation:
        async with transaction(self._pool) as writing:
            return await model_calls.reserve(
                writing, key, self._account, worst, claim_s=claim_s
            )

    async def settle(self, key: CallKey, reserved: Reserved, result: SettledCall) -> None:
        async with connection(self._pool) as writing:
            await model_calls.settle(writing, reserved, result)
        log.info(
            "evaluation.call",
            **id_field(key.submission),
            userId=self._account,
            taskType=TASK_TYPE,
            rubric=key.rubric,
            variant=key.variant,
            tier=key.tier,
            number=key.number,
            latencyMs=result.latency_ms,
            inputTokens=result.input_tokens,
            outputTokens=result.output_tokens,
            cost=float(amount_of(result.cost)),
            result=result.error or "answered",
        )


@dataclass(frozen=True, slots=True)
class Deadline:
    at: float

    @classmethod
    def after(cls, seconds: float) -> "Deadline":
        return cls(time.monotonic() + seconds)

    @property
    def left_s(self) -> float:
        return self.at - time.monotonic()


@dataclass(frozen=True, slots=True)
class Stopped:
    """A call that brought no reply."""

    outcome: Outcome
    retry_after_s: float = 0.0


@dataclass(slots=True)
class ModelClient:
    """One for a process: all evaluations share its circuit breakers."""

    endpoint: ModelEndpoint
    breakers: dict[TierName, CircuitBreaker] = field(default_factory=dict)

    def breaker(self, tier: ModelTier) -> CircuitBreaker:
        return self.breakers.setdefault(tier.name, CircuitBreaker())


class PaidCalls:
    def __init__(self, client: ModelClient, ledger: Ledger, deadline: Deadline) -> None:
        self._client = client
        self._ledger = ledger
        self._deadline = deadline

    async def ask(self, key: CallKey, tier: ModelTier, prompt: Prompt) -> str | Stopped:
        """The content of the reply, from the ledger if it was paid before."""
        request_bytes = len(request_body(tier, prompt))
        worst = tier.worst_cost(request_bytes + REQUEST_OVERHEAD)
        pause_s = FIRST_PAUSE_S
        while True:
            timeout_s = min(tier.timeout_s, self._deadline.left_s)
            if timeout_s < min(MIN_CALL_S, tier.timeout_s):
                return Stopped(Outcome.OUT_OF_TIME)
            reservation = await self._ledger.reserve(
                key, worst, claim_s=timeout_s + CLAIM_MARGIN_S
            )
            match reservation:
                case StoredReply(content):
                    return content
                case HeldByOther(for_s):
                    return Stopped(Outcome.BUSY, for_s)
                case OverBudget():
                    return Stopped(Outcome.OVER_BUDGET)
            result = await self._send(key, tier, prompt, reservation, worst, timeout_s)
            if isinstance(result, str):
                return result
            wait_s = max(result.retry_after_s, pause_s)
            if (
                result.outcome is not Outcome.RATE_LIMITED
                or wait_s + MIN_CALL_S > self._deadline.left_s
            ):
                return result
            await asyncio.sleep(wait_s)
            pause_s *= 2

    async def _send(
        self,
        key: CallKey,
        tier: ModelTier,
        prompt: Prompt,
        reserved: Reserved,
        worst: Micros,
        timeout_s: float,
    ) -> str | Stopped:
        breaker = self._client.breaker(tier)
        if not breaker.allows():
            await self._settle(key, reserved, SettledCall(NOTHING, error="circuit_open"))
            return Stopped(Outcome.CIRCUIT_OPEN)
        began = time.monotonic()
        response = await self._client.endpoint.ask(
            tier, prompt, call_key=call_key_of(key), timeout_s=timeout_s
        )
        took_ms = round((time.monotonic() - began) * 1000)
        if isinstance(response, CallFailure):
            if response.fault in OF_THE_TIER:
                breaker.failed()
            cost = worst if response.fault in PERHAPS_BILLED else NOTHING
            failed = SettledCall(cost, latency_ms=took_ms, error=response.fault)
            await self._settle(key, reserved, failed)
            return Stopped(OUTCOMES[response.fault], response.retry_after_s)
        breaker.succeeded()
        await self._settle(key, reserved, settled(tier, response, worst, took_ms))
        return response.content

    async def _settle(self, key: CallKey, reserved: Reserved, result: SettledCall) -> None:
        # A reply that is not stored would be paid again.
        await asyncio.shield(self._ledger.settle(key, reserved, result))


def settled(tier: ModelTier, response: Completion, worst: Micros, took_ms: int) -> SettledCall:
    """A response that does not tell its tokens is charged with the whole reserved amount."""
    given, written = response.input_tokens, response.output_tokens
    known = given is not None and written is not None
    return SettledCall(
        cost=tier.cost(given or 0, written or 0) if known else worst,
        input_tokens=given or 0,
        output_tokens=written or 0,
        latency_ms=took_ms,
        content=response.content.replace("\0", ""),
    )


def call_key_of(key: CallKey) -> str:
    """Names the call to the endpoint, without telling it the submission's id."""
    return mark_of(key.submission, key.rubric, key.variant, key.tier, str(key.number))
