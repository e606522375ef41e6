"""Receives the tasks that the server sends to this host (M1)."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final
from urllib.parse import urlsplit

from pydantic import ValidationError

from deemster.domain.request_signature import SignedRequest
from deemster.judgehost.hosted_tasks import TaskAdmission
from deemster.judgehost.signed_messages import SignedMessages
from deemster.pipeline.remote.messages import MESSAGE_BYTES, HostTask

PATH: Final = "/tasks"
"""Below the address of the host."""
STATUSES: Final = {
    TaskAdmission.STARTED: 202,
    TaskAdmission.KNOWN: 202,
    TaskAdmission.FULL: 503,
}

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class TaskListener:
    """An ASGI application with one route."""

    def __init__(
        self,
        messages: SignedMessages,
        accept: Callable[[HostTask], TaskAdmission],
        address: str,
    ) -> None:
        """`address` is the URL for the server; a proxy may remove its path from requests."""
        self._signed_path = urlsplit(address).path.rstrip("/") + PATH
        self._messages = messages
        self._accept = accept

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        status, code = await self._answer(scope, receive)
        body = f'{{"code":"{code}"}}'.encode()
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _answer(self, scope: Message, receive: Receive) -> tuple[int, str]:
        if scope["method"] != "POST" or not scope["path"].endswith(PATH):
            return 404, "not_found"
        body = await read_body(receive)
        if body is None:
            return 413, "too_large"
        headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
        query = scope["query_string"].decode("latin-1")
        signed = SignedRequest("POST", self._signed_path, query, headers, body)
        fault = self._messages.fault_of(signed)
        if fault is not None:
            return 401, str(fault)
        try:
            task = HostTask.model_validate_json(body)
        except ValidationError:
            return 422, "not_understood"
        admission = self._accept(task)
        return STATUSES[admission], str(admission)


async def read_body(receive: Receive) -> bytes | None:
    """None: it is larger than any message."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > MESSAGE_BYTES:
            return None
        if not message.get("more_body"):
            return bytes(body)
