"""A server for judge hosts that checks signatures, and notes what the hosts send."""

import asyncio
import json
import socket
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any

import httpx
import uvicorn

from deemster.domain.judge_host import HostKey
from deemster.domain.request_signature import (
    NONCE,
    SignatureFault,
    SignedRequest,
    find_fault,
    signed_headers,
)
from deemster.pipeline.remote.messages import (
    Announcement,
    Finish,
    HeartbeatAnswer,
    HeartbeatRequest,
    HostOrder,
    HostTask,
    LeaveRequest,
    Registration,
    TaskRequest,
    Tasks,
    Update,
)
from deemster.wiring.http_server import Server

Message = MutableMapping[str, Any]
Answer = tuple[int, bytes]
HEARTBEAT_S = 0.1


@dataclass
class StubServer:
    """Tests change and read its fields from another thread."""

    key: HostKey
    url: str = ""
    clock_ahead_s: float = 0
    order: HostOrder = HostOrder.WORK
    answer_secret: bytes | None = None
    """Signs the answers; None: the key of the host."""
    finish_statuses: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    """What the next results of a task are answered; 200 if there is none left."""
    tasks: list[HostTask] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    """Workers that the server takes for dead."""
    data: dict[str, bytes] = field(default_factory=dict)
    """By path and query."""
    downloads: Counter[str] = field(default_factory=Counter)
    announcements: list[Announcement] = field(default_factory=list)
    heartbeats: list[HeartbeatRequest] = field(default_factory=list)
    requests: list[TaskRequest] = field(default_factory=list)
    updates: dict[str, list[Update]] = field(default_factory=lambda: defaultdict(list))
    finishes: dict[str, list[Finish]] = field(default_factory=lambda: defaultdict(list))
    finish_tries: Counter[str] = field(default_factory=Counter)
    left: list[str] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    nonces: set[str] = field(default_factory=set)

    @property
    def worker(self) -> str:
        return f"wrk_{len(self.announcements)}"

    @property
    def running(self) -> set[str]:
        """Of the last heartbeat."""
        return {each.judge_id for each in self.heartbeats[-1].running}

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        path, query = scope["path"], scope["query_string"].decode()
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        fault = self._fault_of(SignedRequest(scope["method"], path, query, headers, body))
        if fault is not None:
            self.refused[fault] += 1
            status, answer = 401, json.dumps({"code": fault}).encode()
        else:
            status, answer = await self._answer(path, query, body)
        signed = signed_headers(
            self.answer_secret or self.key.secret,
            self.key.host,
            "ANSWER",
            path,
            "",
            answer,
            now_s=time.time() + self.clock_ahead_s,
        )
        signed["date"] = formatdate(time.time() + self.clock_ahead_s, usegmt=True)
        shown = [(name.encode(), value.encode()) for name, value in signed.items()]
        await send({"type": "http.response.start", "status": status, "headers": shown})
        await send({"type": "http.response.body", "body": answer})

    def _fault_of(self, request: SignedRequest) -> SignatureFault | None:
        now_s = time.time() + self.clock_ahead_s
        fault = find_fault(self.key.secret, request, now_s=now_s)
        if fault is None and request.headers[NONCE] in self.nonces:
            return SignatureFault.REPLAYED
        self.nonces.add(request.headers.get(NONCE, ""))
        return fault

    async def _answer(self, path: str, query: str, body: bytes) -> Answer:
        match path.removeprefix("/v1/judgehost/").split("/"):
            case ["register"]:
                self.announcements.append(Announcement.model_validate_json(body))
                answer = Registration(worker=self.worker, heartbeat_s=HEARTBEAT_S)
                return 200, answer.model_dump_json().encode()
            case ["heartbeat"]:
                return self._beat(HeartbeatRequest.model_validate_json(body))
            case ["leave"]:
                self.left.append(LeaveRequest.model_validate_json(body).worker)
                return 200, b"{}"
            case ["tasks"]:
                return await self._give(TaskRequest.model_validate_json(body))
            case ["data", _]:
                self.downloads[path] += 1
                found = self.data.get(f"{path}?{query}")
                return (404, b'{"code":"not_found"}') if found is None else (200, found)
            case ["callbacks", _, judge_id, "update"]:
                self.updates[judge_id].append(Update.model_validate_json(body))
                return 200, b"{}"
            case ["callbacks", _, judge_id, "finish"]:
                return self._finish(judge_id, body)
        return 404, b'{"code":"not_found"}'

    def _beat(self, heartbeat: HeartbeatRequest) -> Answer:
        self.heartbeats.append(heartbeat)
        if heartbeat.worker in self.gone:
            return 409, b'{"code":"gone"}'
        lost = [each.judge_id for each in heartbeat.running if each.judge_id in self.lost]
        answer = HeartbeatAnswer(order=self.order, lost=lost)
        return 200, answer.model_dump_json().encode()

    async def _give(self, request: TaskRequest) -> Answer:
        self.requests.append(request)
        end = time.monotonic() + request.wait_s
        while time.monotonic() < end:
            if request.worker in {*self.gone, *self.left} or request.worker != self.worker:
                return 409, b'{"code":"gone"}'
            kind = {"execute"} if request.execution_slots else {"judge", "analyze"}
            found = [each for each in self.tasks if each.kind in kind]
            found = found[: request.slots + request.execution_slots]
            if found and self.order is HostOrder.WORK:
                for each in found:
                    self.tasks.remove(each)
                return 200, Tasks(tasks=found).model_dump_json().encode()
            await asyncio.sleep(0.01)
        return 200, Tasks(tasks=[]).model_dump_json().encode()

    def _finish(self, judge_id: str, body: bytes) -> Answer:
        self.finish_tries[judge_id] += 1
        if self.finish_statuses[judge_id]:
            status = self.finish_statuses[judge_id].pop(0)
            return status, json.dumps({"code": f"status_{status}"}).encode()
        self.finishes[judge_id].append(Finish.model_validate_json(body))
        return 200, b"{}"

    # ---- what a server sends ----

    def push(self, address: str, task: HostTask, **changes: Any) -> int:
        return send_signed(self.signed(address, task, **changes))

    def signed(
        self,
        address: str,
        task: HostTask,
        *,
        secret: bytes | None = None,
        now_s: float | None = None,
    ) -> httpx.Request:
        body = task.model_dump_json().encode()
        headers = signed_headers(
            secret or self.key.secret,
            self.key.host,
            "POST",
            "/tasks",
            "",
            body,
            now_s=time.time() if now_s is None else now_s,
        )
        return httpx.Request("POST", f"{address}/tasks", content=body, headers=headers)


def send_signed(request: httpx.Request) -> int:
    with httpx.Client(trust_env=False, verify=False) as client:
        return client.send(request).status_code


@contextmanager
def serving(stub: StubServer) -> Iterator[StubServer]:
    """Serves in a thread of its own."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        stub.url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        server = Server(
            uvicorn.Config(
                stub, lifespan="off", log_config=None, access_log=False, date_header=False
            )
        )
        thread = threading.Thread(
            target=lambda: asyncio.run(server.serve(sockets=[bound])), daemon=True
        )
        thread.start()
        try:
            yield stub
        finally:
            server.should_exit = server.force_exit = True
            thread.join()
