"""Carries outbox rows to the queue: at least once, in batches, whatever dies meanwhile (Q2)."""

import asyncio
from typing import Final

import structlog

from deemster.domain.errors import Unavailable
from deemster.domain.lifecycle import Event
from deemster.pipeline.queue.producer import Producer
from deemster.store import outbox
from deemster.store.lifecycle import advance_all
from deemster.store.notifications import Listener
from deemster.store.outbox import OutboxRow
from deemster.store.pool import Connection, Pool, transaction

log = structlog.get_logger()

BATCH: Final = 200
CLAIM_S: Final = 10.0
"""When a relay dies, its rows are another's after so long. What is sent twice counts once."""
LOOK_S: Final = 1.0
"""Without a hint it looks this often."""


class Relay:
    def __init__(self, pool: Pool, producer: Producer) -> None:
        self._pool = pool
        self._producer = producer
        self._queue_failed = False

    async def run(self, ear: Listener) -> None:
        """For ever: a hint wakes it, the clock guarantees."""
        pause_s = LOOK_S
        while True:
            try:
                while await self.carry() == BATCH:
                    pass
                pause_s = LOOK_S
            except Unavailable as fault:
                log.warning("relay.unavailable", error=str(fault), again_in_s=pause_s)
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, 10 * LOOK_S)
            except Exception:  # no fault of a store or its driver may end the relay
                log.exception("relay.crashed")
                await asyncio.sleep(pause_s)
            await ear.wait(LOOK_S)

    async def carry(self) -> int:
        """One batch; how many were due. Each step may be the last: the next relay goes on."""
        async with transaction(self._pool) as connection:
            letters = await outbox.claim(connection, most=BATCH, claim_s=CLAIM_S)
        if not letters:
            return 0
        try:
            await self._producer.send([letter.errand for letter in letters])
        except Unavailable as fault:
            self._queue_failed = True
            async with transaction(self._pool) as connection:
                await outbox.put_back(connection, letters, str(fault))
            raise
        async with transaction(self._pool) as connection:
            await self._mark(connection, letters)
        log.info("relay.sent", jobs=len(letters))
        return len(letters)

    async def _mark(self, connection: Connection, letters: list[OutboxRow]) -> None:
        await outbox.mark_sent(connection, letters)
        first = {
            letter.errand.submission: letter.errand.attempt
            for letter in letters
            if letter.errand.dispatch == 1
        }
        # Those that a worker began meanwhile, or that were cancelled, had moved on: fine.
        await advance_all(connection, Event.PUBLISH, first)
        if self._queue_failed:
            await outbox.hurry(connection)
            self._queue_failed = False
