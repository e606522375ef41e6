"""What a handler is given, and what it answers."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from deemster.domain.job import Job
from deemster.pipeline.queue.leases import Lease


@dataclass(frozen=True, slots=True)
class Done:
    """The job is finished: with a verdict, or because there was nothing to do."""


@dataclass(frozen=True, slots=True)
class RetryLater:
    """Not now: it comes again after the delay, and no attempt was used (Q9)."""

    delay_s: float


@dataclass(frozen=True, slots=True)
class DeliveredJob:
    errand: Job
    _lease: Lease

    async def hold(self, lease_s: float) -> None:
        """From now on a lock lasts this long. It is renewed while the handler runs (Q5)."""
        await self._lease.change(lease_s)


Handler = Callable[[DeliveredJob], Awaitable[Done | RetryLater]]
