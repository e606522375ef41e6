"""Keeps the locks of all jobs that a consumer works on, each with its own duration (Q5)."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import structlog

from deemster.domain.job import QueueName
from deemster.pipeline.queue.engine import Engine, LockedJob
from deemster.pipeline.queue.errors import QueueDown

log = structlog.get_logger()

IDLE_S: Final = 60.0


class Lease:
    def __init__(self, taken: LockedJob, lease_s: float, leases: "Leases") -> None:
        self.taken = taken
        self.lease_s = lease_s
        self.renew_at = time.monotonic() + lease_s / 3
        self._leases = leases

    async def change(self, lease_s: float) -> None:
        self.lease_s = lease_s
        await self._leases.renew(self.taken.queue, lease_s, [self])


class Leases:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._held: set[Lease] = set()
        self._changed = asyncio.Event()

    @contextmanager
    def holding(self, taken: LockedJob, lease_s: float) -> Iterator[Lease]:
        lease = Lease(taken, lease_s, self)
        self._held.add(lease)
        self._changed.set()
        try:
            yield lease
        finally:
            self._held.discard(lease)

    async def keep(self) -> None:
        """Renews for as long as it runs; an outage of the store is waited for."""
        while True:
            await self._until_due()
            now = time.monotonic()
            due: dict[tuple[QueueName, float], list[Lease]] = defaultdict(list)
            for lease in self._held:
                if lease.renew_at <= now:
                    due[lease.taken.queue, lease.lease_s].append(lease)
            for (queue, lease_s), leases in due.items():
                await self.renew(queue, lease_s, leases)

    async def renew(self, queue: QueueName, lease_s: float, leases: list[Lease]) -> None:
        try:
            lost = await self._engine.renew(queue, [lease.taken for lease in leases], lease_s)
        except QueueDown as fault:
            log.warning("queue.locks_not_renewed", jobs=len(leases), error=str(fault))
            self._look_again(leases, lease_s / 10)
            return
        self._look_again(leases, lease_s / 3)
        for lease in leases:
            if lease.taken.token in lost and lease in self._held:
                # Whoever works on it finds out when it settles: the attempt is the fence.
                log.warning("job.lock_lost", jobId=lease.taken.id)
                self._held.discard(lease)

    def _look_again(self, leases: list[Lease], after_s: float) -> None:
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
