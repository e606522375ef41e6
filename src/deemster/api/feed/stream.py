"""An answer that goes on: Server-Sent Events to one client, until there is no more to tell."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from math import inf
from typing import Final

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from deemster.api.feed.feed import Feed
from deemster.api.feed.frames import HEARTBEAT, opening, progress_frame
from deemster.api.feed.message import EventMessage
from deemster.api.feed.replay import OrderedReplay, Replay, SubmissionReplay
from deemster.api.feed.subscriber import Subscriber, Topic
from deemster.domain.errors import Unavailable
from deemster.domain.ids import AccountId
from deemster.domain.lifecycle import State
from deemster.metrics import STREAMS
from deemster.store.events import EventCursor, SubmissionEvent
from deemster.store.pool import connection

HEARTBEAT_S: Final = 15.0
STUCK_S: Final = 15.0
"""A client that takes nothing for so long is gone."""
RETRY_S: Final = 0.5
MEDIA_TYPE: Final = "text/event-stream"
HEADERS: Final = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


class EventStream(Response):
    media_type = MEDIA_TYPE

    def __init__(
        self,
        feed: Feed,
        topic: Topic,
        after: EventCursor | None,
        is_welcome: Callable[[], Awaitable[bool]],
        *,
        listener: AccountId,
        seconds: float | None = None,
    ) -> None:
        super().__init__(headers=HEADERS)
        del self.headers["content-length"]
        self._feed = feed
        self._topic = topic
        self._after = after
        self._is_welcome = is_welcome
        self._account = listener
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
            self._feed.counted(self._account),
            self._feed.listening(self._topic) as listener,
            STREAMS.track_inprogress(),
        ):
            telling = StreamWriter(
                self._feed, listener, self._after, self._is_welcome, send, self._seconds
            )
            async with asyncio.TaskGroup() as group:
                leaving = group.create_task(close_when_left(receive, listener))
                is_stuck = not await telling.run()
                leaving.cancel()
        if is_stuck:
            raise ClientDisconnect
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class StreamWriter:
    """One stream on its way."""

    def __init__(
        self,
        feed: Feed,
        listener: Subscriber,
        after: EventCursor | None,
        is_welcome: Callable[[], Awaitable[bool]],
        send: Send,
        seconds: float | None = None,
    ) -> None:
        self._feed = feed
        self._listener = listener
        self._is_welcome = is_welcome
        self._send = send
        self._has_ended = False
        self._clock = asyncio.get_running_loop().time
        self._ends_s = self._clock() + (inf if seconds is None else seconds)
        self._due_s = self._clock() + HEARTBEAT_S
        topic = listener.topic
        if topic.submission is None:
            self._reading: Replay = OrderedReplay(topic, after)
            self._opening = opening(after or listener.began)
        else:
            self._reading = SubmissionReplay(topic.submission, after)
            self._opening = opening(after)

    async def run(self) -> bool:
        """False: the client does not take what is sent."""
        try:
            await self._write(self._opening)
            await self._tell_past()
            await self._tell_on()
        except TimeoutError:
            return False
        return True

    async def _tell_past(self) -> None:
        """Some of it in any case: who has little time must get on with every visit."""
        more = True
        while more and not self._is_over:
            try:
                async with connection(self._feed.pool) as acquired:
                    found, more = await self._reading.past(acquired)
            except Unavailable:
                await asyncio.sleep(RETRY_S)
            else:
                await self._pass_on(map(EventMessage, found))
            await self._beat()
            if self._clock() >= self._ends_s:
                return

    async def _tell_on(self) -> None:
        while not self._is_over and self._clock() < self._ends_s:
            came = await self._listener.wait(min(self._due_s, self._ends_s) - self._clock())
            await self._pass_on(each for each in came if self._reading.is_new(each.event))
            await self._show_progress()
            await self._beat()

    async def _beat(self) -> None:
        """When it is time for it, and only for who may still hear."""
        if self._clock() < self._due_s or self._is_over:
            return
        if not await self._is_welcome():
            self._has_ended = True
            return
        await self._write(HEARTBEAT)
        self._due_s = self._clock() + HEARTBEAT_S

    @property
    def _is_over(self) -> bool:
        return self._has_ended or self._listener.is_closed

    async def _pass_on(self, notices: Iterable[EventMessage]) -> None:
        """In one piece: a client that is far behind costs few writes."""
        for_admin = self._listener.topic.for_admin
        told = list(notices)
        if told:
            for notice in told:
                self._note(notice.event)
            await self._write(b"".join(each.frame(for_admin=for_admin) for each in told))

    def _note(self, event: SubmissionEvent) -> None:
        self._reading.last = event.cursor
        if self._listener.topic.submission is not None:
            self._listener.is_running = event.state is State.RUNNING
            self._has_ended = event.is_final

    async def _show_progress(self) -> None:
        progress = self._listener.take_progress()
        if progress is not None and self._listener.is_running:
            await self._write(progress_frame(progress))

    async def _write(self, body: bytes) -> None:
        async with asyncio.timeout(STUCK_S):
            await self._send({"type": "http.response.body", "body": body, "more_body": True})


async def close_when_left(receive: Receive, listener: Subscriber) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    listener.close()
