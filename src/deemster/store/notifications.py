"""Wakes those who wait for rows: a hint that may be lost, so they look now and then too."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

import structlog

from deemster.domain.errors import Unavailable
from deemster.domain.ids import SubmissionId
from deemster.store.pool import Connection, Pool, connect, connection, outages_as_errors

OUTBOX_CHANNEL: Final = "deemster_outbox"
"""There is something to send."""
STOP_CHANNEL: Final = "deemster_stop"
"""A submission that runs was cancelled; its id follows."""
GATHER_S: Final = 0.01
RETRY_S: Final = 1.0

log = structlog.get_logger()


class Notifier:
    """Rings once for many: NOTIFY takes a lock of the whole server when it commits."""

    def __init__(self, pool: Pool, channel: str) -> None:
        self._pool = pool
        self._channel = channel
        self._wanted = asyncio.Event()

    @classmethod
    @asynccontextmanager
    async def open(cls, pool: Pool, channel: str) -> AsyncIterator["Notifier"]:
        bell = cls(pool, channel)
        async with asyncio.TaskGroup() as group:
            ringing = group.create_task(bell._run())
            try:
                yield bell
            finally:
                ringing.cancel()

    def notify(self) -> None:
        self._wanted.set()

    async def _run(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            try:
                async with connection(self._pool) as acquired:
                    await acquired.execute("SELECT pg_notify($1, '')", self._channel)
            except Unavailable:
                pass  # whoever waits looks by itself
            except Exception:  # a lost hint must not end the process
                log.exception("wake.not_sent", channel=self._channel)
            await asyncio.sleep(GATHER_S)


async def notify_stop(connection: Connection, submission: SubmissionId) -> None:
    """Heard by the workers when the transaction is done."""
    await connection.execute("SELECT pg_notify($1, $2)", STOP_CHANNEL, submission)


class Listener:
    """Hears a channel, connecting again whenever the server was away."""

    def __init__(self, url: str, channel: str) -> None:
        self._url = url
        self._channel = channel
        self._heard = asyncio.Event()
        self._words: list[str] = []

    @classmethod
    @asynccontextmanager
    async def open(cls, url: str, channel: str) -> AsyncIterator["Listener"]:
        ear = cls(url, channel)
        async with asyncio.TaskGroup() as group:
            listening = group.create_task(ear._run())
            try:
                yield ear
            finally:
                listening.cancel()

    async def wait(self, timeout_s: float) -> list[str]:
        """What was said since the last time; nothing when that took too long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._heard.wait()
        self._heard.clear()
        words, self._words = self._words, []
        return words

    async def _run(self) -> None:
        while True:
            try:
                await self._listen()
            except Unavailable:
                await asyncio.sleep(RETRY_S)
            except Exception:  # hints that are missed must not end the process
                log.exception("wake.not_heard", channel=self._channel)
                await asyncio.sleep(RETRY_S)

    async def _listen(self) -> None:
        listening = await connect(self._url)
        lost = asyncio.Event()
        listening.add_termination_listener(lambda _: lost.set())
        try:
            with outages_as_errors():
                await listening.add_listener(self._channel, self._hear)
            self._hear(listening, 0, self._channel, "")  # something may have been said before
            await lost.wait()
        finally:
            listening.terminate()

    def _hear(self, _connection: object, _pid: int, _channel: str, word: object) -> None:
        self._words.append(str(word))
        self._heard.set()
