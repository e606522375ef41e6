"""WebSocket `/v1/language-server`: relays messages between an editor and its server (W1)."""

import asyncio
import time
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from deemster.api.feed.live_output import OutputCursor
from deemster.api.live_socket import ENDED, RESTARTING, LiveSocket, serve_socket
from deemster.api.message_frames import BrokenFrame, FrameReader, frame
from deemster.domain.errors import Conflict, DeemsterError, NotFound, Refused, Unavailable
from deemster.domain.execution import ExecutionView, OutputChunk, Stream
from deemster.domain.ids import ExecutionId
from deemster.domain.lifecycle import TERMINAL, State
from deemster.domain.run_status import RunStatus
from deemster.pipeline.verdict.cancel import cancel, cancel_in
from deemster.programs.language_servers import document_of
from deemster.settings.ceilings import language_server_limits
from deemster.store import executions
from deemster.store.pool import Pool, connection, transaction

LANGUAGE_SERVER_PATH: Final = "/v1/language-server"
SUBPROTOCOL: Final = "deemster.language-server"
FREE_S: Final = 10.0
"""Time to wait for a free language server."""
ANSWER_S: Final = 30.0
"""Time to wait for the first answer of a server that was started."""
TAKEN_OVER: Final = 4409
"""Close code: the user has opened a language server elsewhere, and each has at most one."""


class NoneFree(Unavailable):
    code: ClassVar[str] = "no_language_server_free"


async def serve_language_server(socket: WebSocket) -> None:
    await serve_socket(socket, SUBPROTOCOL, relay, shown_message)


async def relay(live: LiveSocket) -> int:
    execution = await start(live)
    try:
        await end_older(live)
        return await LanguageServerConnection(live, execution).serve()
    finally:
        await asyncio.shield(end(live.state.pool, execution))


async def start(live: LiveSocket) -> ExecutionId:
    """Starts a language server, which the caller of this function must end."""
    state, name = live.state, live.socket.query_params.get("language", "")
    if not state.settings.language_servers:
        raise NotFound("This judge runs no language servers.")
    language = state.dependencies.catalogue.named(name)
    if document_of(language) is None:
        raise NotFound(f"There is no language server for {language.name}.")
    async with state.admission.rate_tokens() as tokens:
        await state.admission.admit_execution(live.socket, live.caller, tokens)
        return await state.executions.accept.start_language_server(
            live.caller, language, language_server_limits(state.settings)
        )


async def end_older(live: LiveSocket) -> None:
    """Each user has at most one language server: the newest."""
    pool = live.state.pool
    async with connection(pool) as acquired:
        unfinished = await executions.unfinished_language_servers(acquired, live.caller.id)
    for older in unfinished[1:]:
        with suppress(Conflict, NotFound):  # it has ended meanwhile
            await cancel(pool, older)


async def end(pool: Pool, execution: ExecutionId) -> None:
    """Kills the server, and deletes all messages: they contain the program of the user."""
    async with transaction(pool) as writing:
        with suppress(Conflict, NotFound):
            await cancel_in(writing, execution)
        await executions.delete(writing, execution)


@dataclass(slots=True)
class LanguageServerConnection:
    live: LiveSocket
    execution: ExecutionId
    frames: FrameReader = field(default_factory=FrameReader)
    has_answered: bool = False
    last_error: str = ""

    async def serve(self) -> int:
        """Returns the close code."""
        return await self.live.talk(self._send_messages(), self._receive_messages())

    async def _send_messages(self) -> int:
        live = self.live
        follow = live.state.live_output.follow
        patience = time.monotonic() + FREE_S
        async with aclosing(
            follow(self.execution, OutputCursor(), live.is_authorised)
        ) as events:
            async for each in events:
                if isinstance(each, OutputChunk):
                    if not await self._send_chunk(each):
                        return RESTARTING
                elif isinstance(each, ExecutionView):
                    if each.state in TERMINAL:
                        return self._closing_of(each)
                    if each.state is State.RUNNING and each.attempt == 1:
                        patience += ANSWER_S
                    elif each.attempt:
                        return RESTARTING  # another worker would begin without the client
                if not self.has_answered and time.monotonic() > patience:
                    raise NoneFree(
                        "No language server is free: the editor works without one for now."
                    )
        await live.check_authorised()
        return RESTARTING

    async def _send_chunk(self, chunk: OutputChunk) -> bool:
        """Returns False if the server wrote what is no message."""
        if chunk.stream is Stream.STDERR:
            self.last_error = chunk.content.decode(errors="replace")
            return True
        try:
            messages = self.frames.feed(chunk.content)
        except BrokenFrame:
            return False
        for message in messages:
            self.has_answered = True
            await self.live.send_text(message.decode(errors="replace"))
        return True

    def _closing_of(self, view: ExecutionView) -> int:
        if view.state is State.CANCELLED:
            return TAKEN_OVER
        if view.result is None or view.result.status is RunStatus.INTERNAL_ERROR:
            raise NotFound(self.last_error or "The language server could not be started.")
        is_idle = view.result.status is RunStatus.WALL_LIMIT
        return ENDED if is_idle else RESTARTING

    async def _receive_messages(self) -> None:
        """Does not look into messages: the box of the server is the user's own."""
        while True:
            text = (await self.live.receive()).get("text")
            if text is None:
                raise Refused("Send each message as text: a JSON object without a header.")
            message = frame(text.encode(errors="replace"))
            try:
                async with transaction(self.live.state.pool) as writing:
                    await executions.add_input(writing, self.execution, "data", message)
            except Conflict:
                raise Unavailable(
                    "This language server reached its limit of input: open a new connection."
                ) from None


def shown_message(fault: DeemsterError) -> dict[str, Any]:
    """Tells the fault as language servers do, so that every client can show it."""
    params = {"type": 1, "message": str(fault)}
    return {"jsonrpc": "2.0", "method": "window/showMessage", "params": params}


routes: Final = [WebSocketRoute(LANGUAGE_SERVER_PATH, serve_language_server)]
