"""Wakes waiting processes by LISTEN and NOTIFY; a notice may be lost, so they also poll."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final

import structlog

from deemster.background_task import background_task
from deemster.domain.errors import Unavailable
from deemster.domain.ids import ExecutionId, WorkId
from deemster.store.pool import Connection, Pool, connect, connection, outages_as_errors

OUTBOX_CHANNEL: Final = "deemster_outbox"
"""The outbox has rows to send."""
EVENT_CHANNEL: Final = "deemster_event"
"""Events were committed; the payload may name submissions and executions that have ended."""
STOP_CHANNEL: Final = "deemster_stop"
"""A running submission or execution was cancelled; the payload is its id."""
INPUT_CHANNEL: Final = "deemster_input"
"""Somebody typed; the payload is the execution's id."""
OUTPUT_CHANNEL: Final = "deemster_output"
"""Executions wrote output; the payload is their ids, with spaces between them."""
HOST_CHANNEL: Final = "deemster_host"
"""A judge host has a task to fetch; the payload is the id of its worker."""
ROOM_CHANNEL: Final = "deemster_room"
"""A judge host has reported a result, so it has room for another task."""
IDS_OF_NOTICE: Final = 200
"""A payload has less than 8,000 bytes."""
GATHER_S: Final = 0.01
LATER_S: Final = 0.05
"""Most short submissions end within this time, and one NOTIFY tells their start and end."""
SEND_TIMEOUT_S: Final = 5.0
"""The connection may have been idle for so long that a firewall has forgotten it."""
RETRY_S: Final = 1.0

log = structlog.get_logger()


class Notifier:
    """Sends one NOTIFY for many calls: its commit takes a lock of the whole server."""

    def __init__(self, pool: Pool, channel: str) -> None:
        self._pool = pool
        self._channel = channel
        self._called = asyncio.Event()
        self._soon = asyncio.Event()
        self._urgent = asyncio.Event()
        self._settled: list[WorkId] = []

    @classmethod
    @asynccontextmanager
    async def open(cls, pool: Pool, channel: str) -> AsyncIterator["Notifier"]:
        notifier = cls(pool, channel)
        async with background_task(notifier._run()):
            yield notifier

    def notify(self) -> None:
        """Sends a NOTIFY as soon as the caller lets other tasks run."""
        self._urgent.set()
        self.notify_soon()

    def notify_settled(self, work: WorkId) -> None:
        """The same, and names a submission or execution whose outcome is known."""
        self._settled.append(work)
        self.notify()

    def notify_soon(self) -> None:
        """For news that can wait a moment: what follows at once needs no second NOTIFY."""
        self._soon.set()
        self.notify_later()

    def notify_later(self) -> None:
        """For news that nobody waits for, such as the start of a submission."""
        self._called.set()

    async def _run(self) -> None:
        while True:
            try:
                # The same connection all the time: to get one takes turns of the event loop, in
                # which other tasks go first.
                async with connection(self._pool) as acquired:
                    while True:
                        await self._send_next(acquired)
            except Unavailable:
                pass  # the listener polls
            except Exception:  # a lost notice must not end the process
                log.exception("wake.not_sent", channel=self._channel)
            self._called.set()
            await asyncio.sleep(RETRY_S)

    async def _send_next(self, acquired: Connection) -> None:
        await self._called.wait()
        with suppress(TimeoutError):
            async with asyncio.timeout(LATER_S):
                await self._soon.wait()
            async with asyncio.timeout(GATHER_S):
                await self._urgent.wait()
        is_urgent = self._urgent.is_set()
        for each in (self._called, self._soon, self._urgent):
            each.clear()
        # Those who wait for one that is not named learn it from its events, a little later.
        named, self._settled = self._settled[:IDS_OF_NOTICE], []
        await acquired.execute(
            "SELECT pg_notify($1, $2)",
            self._channel,
            " ".join(named),
            timeout=SEND_TIMEOUT_S,
        )
        if is_urgent:
            await asyncio.sleep(GATHER_S)


async def notify_event(connection: Connection, settled: WorkId | None = None) -> None:
    """API processes receive it when the transaction commits; for rare events only.

    `settled` names what has ended, so that those who wait for it need not read its event.
    """
    await connection.execute("SELECT pg_notify($1, $2)", EVENT_CHANNEL, settled or "")


async def notify_output(connection: Connection, executions: Sequence[ExecutionId]) -> None:
    """API processes receive it when the transaction commits."""
    for first in range(0, len(executions), IDS_OF_NOTICE):
        ids = " ".join(executions[first : first + IDS_OF_NOTICE])
        await connection.execute("SELECT pg_notify($1, $2)", OUTPUT_CHANNEL, ids)


async def notify_stop(connection: Connection, work: WorkId) -> None:
    """Workers receive it when the transaction commits."""
    await connection.execute("SELECT pg_notify($1, $2)", STOP_CHANNEL, work)


class Listener:
    """Listens to a channel, and connects again after an outage of the server."""

    def __init__(self, url: str, channel: str) -> None:
        self._url = url
        self._channel = channel
        self._received = asyncio.Event()
        self._payloads: list[str] = []

    @classmethod
    @asynccontextmanager
    async def open(cls, url: str, channel: str) -> AsyncIterator["Listener"]:
        listener = cls(url, channel)
        async with background_task(listener._run()):
            yield listener

    async def wait(self, timeout_s: float) -> list[str]:
        """Returns the payloads since the last call; none after the timeout."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._received.wait()
        self._received.clear()
        payloads, self._payloads = self._payloads, []
        return payloads

    async def _run(self) -> None:
        while True:
            try:
                await self._listen()
            except Unavailable:
                await asyncio.sleep(RETRY_S)
            except Exception:  # missed notices must not end the process
                log.exception("wake.not_heard", channel=self._channel)
                await asyncio.sleep(RETRY_S)

    async def _listen(self) -> None:
        listening = await connect(self._url)
        lost = asyncio.Event()
        listening.add_termination_listener(lambda _: lost.set())
        try:
            with outages_as_errors():
                await listening.add_listener(self._channel, self._receive)
            # There may have been a notice before.
            self._receive(listening, 0, self._channel, "")
            await lost.wait()
        finally:
            listening.terminate()

    def _receive(self, _connection: object, _pid: int, _channel: str, payload: object) -> None:
        self._payloads.append(str(payload))
        self._received.set()
