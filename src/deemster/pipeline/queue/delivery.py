"""A delivered job, its lease, and the answers of a job handler (Q5)."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import structlog

from deemster.domain.job import Job, QueueName
from deemster.pipeline.queue.engine import Engine, LockedJob
from deemster.pipeline.queue.errors import QueueDown

log = structlog.get_logger()

IDLE_S: Final = 60.0


class Lease:
    """The lock on one job, renewed every third of its duration."""

    def __init__(self, locked: LockedJob, lease_s: float, leases: "Leases") -> None:
        self.locked = locked
        self.lease_s = lease_s
        self.renew_at = time.monotonic() + lease_s / 3
        self._leases = leases

    async def change(self, lease_s: float) -> None:
        self.lease_s = lease_s
        await self._leases.renew(self.locked.queue, lease_s, [self])


class Leases:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._held: set[Lease] = set()
        self._changed = asyncio.Event()

    @contextmanager
    def holding(self, locked: LockedJob, lease_s: float) -> Iterator[Lease]:
        lease = Lease(locked, lease_s, self)
        self._held.add(lease)
        self._changed.set()
        try:
            yield lease
        finally:
            self._held.discard(lease)

    async def keep_renewing(self) -> None:
        """Renews leases for ever; during an outage of the store it tries again."""
        while True:
            await self._until_due()
            now = time.monotonic()
            due: dict[tuple[QueueName, float], list[Lease]] = defaultdict(list)
            for lease in self._held:
                if lease.renew_at <= now:
                    due[lease.locked.queue, lease.lease_s].append(lease)
            for (queue, lease_s), leases in due.items():
                await self.renew(queue, lease_s, leases)

    async def renew(self, queue: QueueName, lease_s: float, leases: list[Lease]) -> None:
        try:
            lost = await self._engine.renew(queue, [lease.locked for lease in leases], lease_s)
        except QueueDown as fault:
            log.warning("queue.locks_not_renewed", jobs=len(leases), error=str(fault))
            self._schedule(leases, lease_s / 10)
            return
        self._schedule(leases, lease_s / 3)
        for lease in leases:
            if lease.locked.token in lost and lease in self._held:
                # The handler finds out when it settles: the attempt fences it.
                log.warning("job.lock_lost", jobId=lease.locked.id)
                self._held.discard(lease)

    def _schedule(self, leases: list[Lease], after_s: float) -> None:
        for lease in leases:
            lease.renew_at = time.monotonic() + after_s
        self._changed.set()

    async def _until_due(self) -> None:
        first = min((lease.renew_at for lease in self._held), default=time.monotonic() + IDLE_S)
        self._changed.clear()
        try:
            async with asyncio.timeout(max(first - time.monotonic(), 0)):
                await self._changed.wait()
        except TimeoutError:
            pass


@dataclass(frozen=True, slots=True)
class Done:
    """The job is finished, with a verdict or because there was nothing to do."""


@dataclass(frozen=True, slots=True)
class RetryLater:
    """The job cannot start now and comes again after the delay; it uses no attempt (Q9)."""

    delay_s: float


@dataclass(frozen=True, slots=True)
class DeliveredJob:
    job: Job
    _lease: Lease

    async def set_lease(self, lease_s: float) -> None:
        """Changes how long a lock lasts. The lock is renewed while the handler runs."""
        await self._lease.change(lease_s)


Handler = Callable[[DeliveredJob], Awaitable[Done | RetryLater]]
