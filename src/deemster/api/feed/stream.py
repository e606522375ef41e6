"""A response that streams Server-Sent Events to one client until its topic has ended."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from math import inf
from typing import Any, Final

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from deemster.api.feed.feed import Feed
from deemster.api.feed.messages import (
    HEARTBEAT,
    EventMessage,
    first_message,
    progress_message,
)
from deemster.api.feed.replay import OrderedReplay, Replay, WorkReplay
from deemster.api.feed.subscriptions import Subscriber, Topic
from deemster.domain.errors import Unavailable
from deemster.domain.ids import AccountId
from deemster.domain.lifecycle import State
from deemster.metrics import STREAMS
from deemster.store.events import EventCursor
from deemster.store.pool import connection

HEARTBEAT_S: Final = 15.0
SEND_TIMEOUT_S: Final = 15.0
RETRY_S: Final = 0.5
MEDIA_TYPE: Final = "text/event-stream"
STREAM_CONTENT: Final = {
    MEDIA_TYPE: {
        "schema": {
            "type": "object",
            "description": "One event of the stream; its data is JSON.",
            "properties": {name: {"type": "string"} for name in ("id", "event", "data")},
            "required": ["data"],
        }
    }
}
"""The content of a stream in the OpenAPI document."""
NO_MORE: Final[dict[int | str, dict[str, Any]]] = {
    204: {"description": "The client has seen the last event: it must not reconnect"}
}
HEADERS: Final = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


class EventStream(Response):
    media_type = MEDIA_TYPE

    def __init__(
        self,
        feed: Feed,
        topic: Topic,
        after: EventCursor | None,
        is_authorised: Callable[[], Awaitable[bool]],
        *,
        account: AccountId,
        seconds: float | None = None,
    ) -> None:
        super().__init__(headers=HEADERS)
        del self.headers["content-length"]
        self._feed = feed
        self._topic = topic
        self._after = after
        self._is_authorised = is_authorised
        self._account = account
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send(
            {
                "type": "http.response.start",
                "status": self.status_code,
                "headers": self.raw_headers,
            }
        )
        with (
            self._feed.count_stream(self._account),
            self._feed.subscribe(self._topic) as subscriber,
            STREAMS.track_inprogress(),
        ):
            writer = StreamWriter(
                self._feed, subscriber, self._after, self._is_authorised, send, self._seconds
            )
            async with asyncio.TaskGroup() as group:
                watch = group.create_task(close_on_disconnect(receive, subscriber))
                is_stuck = not await writer.run()
                watch.cancel()
        if is_stuck:
            raise ClientDisconnect
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class StreamWriter:
    """Writes past events, then new ones with progress and heartbeats."""

    def __init__(
        self,
        feed: Feed,
        subscriber: Subscriber,
        after: EventCursor | None,
        is_authorised: Callable[[], Awaitable[bool]],
        send: Send,
        seconds: float | None = None,
    ) -> None:
        self._feed = feed
        self._subscriber = subscriber
        self._is_authorised = is_authorised
        self._send = send
        self._has_ended = False
        self._clock = asyncio.get_running_loop().time
        self._ends_s = self._clock() + (inf if seconds is None else seconds)
        self._heartbeat_s = self._clock() + HEARTBEAT_S
        topic = subscriber.topic
        if topic.work is None:
            self._replay: Replay = OrderedReplay(topic, after)
            self._first_message = first_message(after or subscriber.start)
        else:
            self._replay = WorkReplay(topic.work, after)
            self._first_message = first_message(after)

    async def run(self) -> bool:
        """Returns False if the client does not read what is sent."""
        try:
            await self._write(self._first_message)
            await self._write_past()
            await self._write_new()
        except TimeoutError:
            return False
        return True

    async def _write_past(self) -> None:
        """Writes at least one batch, so that short streams make progress too."""
        more = True
        while more and not self._is_over:
            try:
                async with connection(self._feed.pool) as acquired:
                    found, more = await self._replay.read(acquired)
            except Unavailable:
                await asyncio.sleep(RETRY_S)
            else:
                await self._write_messages(map(EventMessage, found))
            await self._write_heartbeat()
            if self._clock() >= self._ends_s:
                return

    async def _write_new(self) -> None:
        while not self._is_over and self._clock() < self._ends_s:
            timeout_s = min(self._heartbeat_s, self._ends_s) - self._clock()
            messages = await self._subscriber.wait(timeout_s)
            await self._write_messages(
                each for each in messages if self._replay.is_new(each.event)
            )
            progress = self._subscriber.take_progress()
            if progress is not None:
                await self._write(progress_message(progress))
            await self._write_heartbeat()

    async def _write_heartbeat(self) -> None:
        """Writes a heartbeat if one is due and the client is still authorised."""
        if self._clock() < self._heartbeat_s or self._is_over:
            return
        if not await self._is_authorised():
            self._has_ended = True
            return
        await self._write(HEARTBEAT)
        self._heartbeat_s = self._clock() + HEARTBEAT_S

    @property
    def _is_over(self) -> bool:
        return self._has_ended or self._subscriber.is_closed

    async def _write_messages(self, messages: Iterable[EventMessage]) -> None:
        """Writes all in one piece: a client that is far behind costs few writes."""
        topic = self._subscriber.topic
        pieces = []
        for message in messages:
            event = message.event
            self._replay.last = event.cursor
            if topic.work is not None:
                self._subscriber.is_running = event.state is State.RUNNING
                self._has_ended = event.is_final
            pieces.append(message.text(for_admin=topic.for_admin))
        if pieces:
            await self._write(b"".join(pieces))

    async def _write(self, body: bytes) -> None:
        async with asyncio.timeout(SEND_TIMEOUT_S):
            await self._send({"type": "http.response.body", "body": body, "more_body": True})


async def close_on_disconnect(receive: Receive, subscriber: Subscriber) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    subscriber.close()
