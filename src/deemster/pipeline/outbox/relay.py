"""Sends outbox rows to the queue, at least once each, in batches (Q2)."""

import asyncio
import time
from collections import deque
from typing import Final

import structlog

from deemster.domain.errors import Unavailable
from deemster.domain.lifecycle import Event
from deemster.metrics import SENT_JOBS
from deemster.pipeline.queue.producer import Producer
from deemster.store import outbox
from deemster.store.lifecycle import advance_all
from deemster.store.notifications import Listener
from deemster.store.outbox import OutboxRow
from deemster.store.pool import Connection, Pool, connection, transaction

log = structlog.get_logger()

BATCH: Final = 200
CLAIM_S: Final = 10.0
"""After this time another relay takes over the rows of one that died."""
POLL_S: Final = 1.0
"""Pause between two looks at the outbox without a notification."""
MANY_JOBS: Final = 20
MANY_S: Final = 0.2
"""After so many jobs in this time, the relay waits for more before each batch: to claim and
mark a batch costs the database as much as four jobs. One client alone is never so fast."""
GATHER_S: Final = 0.02


class Relay:
    def __init__(self, pool: Pool, producer: Producer) -> None:
        self._pool = pool
        self._producer = producer
        self._queue_failed = False
        self._sent_at: deque[float] = deque(maxlen=MANY_JOBS)
        """When the last jobs were sent."""

    async def run(self, listener: Listener) -> None:
        """Runs for ever; a notification wakes it, and polling bounds the wait."""
        await self._look_at_queue()
        pause_s = POLL_S
        while True:
            try:
                while await self.send_batch() == BATCH:
                    pass
                pause_s = POLL_S
            except Unavailable as fault:
                log.warning("relay.unavailable", error=str(fault), again_in_s=pause_s)
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, 10 * POLL_S)
            except Exception:  # no fault of a store or its driver may end the relay
                log.exception("relay.crashed")
                await asyncio.sleep(pause_s)
            await listener.wait(POLL_S)
            if self.is_busy:
                await asyncio.sleep(GATHER_S)

    @property
    def is_busy(self) -> bool:
        """Whether very many jobs are sent at the moment."""
        sent_at = self._sent_at
        return len(sent_at) == MANY_JOBS and time.monotonic() - sent_at[0] < MANY_S

    async def _look_at_queue(self) -> None:
        """So that a wrong URL is in the log before the first submission comes."""
        try:
            await self._producer.ping()
        except Unavailable as fault:
            log.warning("relay.unavailable", error=str(fault))

    async def send_batch(self) -> int:
        """Returns how many rows were due. A relay may die after any line: the next goes on."""
        async with connection(self._pool) as acquired:
            rows = await outbox.claim(acquired, limit=BATCH, claim_s=CLAIM_S)
        if not rows:
            return 0
        try:
            await self._producer.send([row.job for row in rows])
        except Unavailable as fault:
            self._queue_failed = True
            async with transaction(self._pool) as writing:
                await outbox.retry_later(writing, rows, str(fault))
            raise
        async with transaction(self._pool) as writing:
            await self._mark_sent(writing, rows)
        self._sent_at.extend([time.monotonic()] * len(rows))
        for row in rows:
            SENT_JOBS.labels(row.job.task).inc()
        log.info("relay.sent", jobs=len(rows))
        return len(rows)

    async def _mark_sent(self, writing: Connection, rows: list[OutboxRow]) -> None:
        await outbox.mark_sent(writing, rows)
        jobs = [row.job for row in rows]
        first = {job.work: job.attempt for job in jobs if job.is_first}
        # Those that were started or cancelled meanwhile stay as they are.
        await advance_all(writing, Event.PUBLISH, first)
        if self._queue_failed:
            await outbox.retry_now(writing)
            self._queue_failed = False
