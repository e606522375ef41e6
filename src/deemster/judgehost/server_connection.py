"""Sends signed requests to the server of this judge host, and repeats what can be repeated."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Final, NoReturn, Self, TypeVar

import httpx
import structlog
from pydantic import ValidationError

from deemster import __version__
from deemster.client.endpoint import check_url, is_local, tls_for
from deemster.domain.errors import LostRace, Refused, Unavailable
from deemster.domain.judge_host import HostKey
from deemster.domain.request_signature import (
    SignatureFault,
    SignedRequest,
    signed_headers,
)
from deemster.judgehost.backoff import Backoff
from deemster.judgehost.signed_messages import SignedMessages
from deemster.pattern_messages import fault_text
from deemster.pipeline.remote.messages import (
    Announcement,
    Finish,
    HeartbeatAnswer,
    HeartbeatRequest,
    HostMessage,
    HostTask,
    LeaveRequest,
    Registration,
    TaskRequest,
    Tasks,
    Update,
)

log = structlog.get_logger()

T = TypeVar("T")
M = TypeVar("M", bound=HostMessage)

CONNECT_S: Final = 10.0
ANSWER_S: Final = 30.0
REGISTER_PATH: Final = "/v1/judgehost/register"
HEARTBEAT_PATH: Final = "/v1/judgehost/heartbeat"
LEAVE_PATH: Final = "/v1/judgehost/leave"
TASKS_PATH: Final = "/v1/judgehost/tasks"
KEY_FAULTS: Final = frozenset(
    {SignatureFault.MISSING, SignatureFault.UNKNOWN_HOST, SignatureFault.FORGED}
)
REVOKED: Final = "revoked"


class HostRefused(Refused):
    """The server does not know this host, or its admin has revoked the key."""

    code = "host_refused"


class MessageRefused(Refused):
    """The server will never take this message."""

    code = "message_refused"


class NoLongerCounts(LostRace):
    """The judge id of a task, or the worker id of this host, is not in use any more."""

    code = "no_longer_counts"


class ServerConnection:
    def __init__(
        self,
        client: httpx.AsyncClient,
        url: str,
        key: HostKey,
        answers: SignedMessages,
        backoff: Backoff,
    ) -> None:
        self._client = client
        self._url = url
        self._key = key
        self._answers = answers
        self._backoff = backoff

    @classmethod
    @asynccontextmanager
    async def open(
        cls, url: str, key: HostKey, answers: SignedMessages, backoff: Backoff | None = None
    ) -> AsyncIterator[Self]:
        try:
            check_url(url)
        except ValueError as fault:
            raise Refused(str(fault)) from fault
        if httpx.URL(url).scheme == "http" and not is_local(url):
            log.warning("judgehost.not_encrypted", server=url)
        async with httpx.AsyncClient(
            headers={"user-agent": f"deemster-judgehost/{__version__}"},
            timeout=httpx.Timeout(ANSWER_S, connect=CONNECT_S),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
            follow_redirects=False,
            trust_env=not is_local(url),  # no proxy for this machine itself
            verify=tls_for(url),
        ) as client:
            yield cls(client, url.rstrip("/"), key, answers, backoff or Backoff())

    # ---- requests that are made once ----

    async def heartbeat(self, message: HeartbeatRequest) -> HeartbeatAnswer:
        return parsed(HeartbeatAnswer, await self._post(HEARTBEAT_PATH, message))

    async def leave(self, worker: str) -> None:
        await self._post(LEAVE_PATH, LeaveRequest(worker=worker))

    async def fetch_tasks(self, message: TaskRequest) -> list[HostTask]:
        """Waits until there are tasks, or until `wait_s` has passed."""
        answer = await self._post(TASKS_PATH, message, timeout_s=message.wait_s + ANSWER_S)
        headers = {name.lower(): value for name, value in answer.headers.items()}
        signed = SignedRequest("ANSWER", TASKS_PATH, "", headers, answer.content)
        fault = self._answers.fault_of(signed)
        if fault is not None:
            raise Unavailable(
                f"An answer of {self._url} is not from the server of this judge host "
                f"({fault}), so its tasks are ignored."
            )
        return parsed(Tasks, answer).tasks

    async def update(self, task: HostTask, message: Update) -> None:
        await self._post(task.update_path, message)

    async def download(self, path: str, target: Path, max_bytes: int) -> None:
        """Writes the answer to a file; `path` contains a query that the server has signed."""
        plain, _, query = path.partition("?")
        headers = self._sign("GET", plain, query, b"")
        try:
            async with self._client.stream("GET", self._url + path, headers=headers) as answer:
                if not answer.is_success:
                    await answer.aread()
                    self._raise_fault(answer)
                await write_bounded(answer.aiter_raw(), target, max_bytes)
        except httpx.TransportError as fault:
            raise self._unreachable(fault) from fault

    # ---- requests that are repeated ----

    async def register(self, message: Announcement) -> Registration:
        async def once() -> Registration:
            return parsed(Registration, await self._post(REGISTER_PATH, message))

        return await self._repeated(once, "judgehost.not_registered")

    async def finish(self, task: HostTask, message: Finish) -> None:
        """Repeats until the server has the result; raises NoLongerCounts if it wants none."""

        async def once() -> None:
            await self._post(task.finish_path, message)

        await self._repeated(once, "judgehost.result_not_sent")

    async def _repeated(self, call: Callable[[], Awaitable[T]], event: str) -> T:
        for pause_s in self._backoff.pauses():
            try:
                return await call()
            except Unavailable as fault:
                log.warning(event, error=str(fault), again_in_s=round(pause_s, 1))
            await asyncio.sleep(pause_s)
        raise AssertionError("the pauses never end")

    # ---- one request ----

    async def _post(
        self, path: str, message: HostMessage, timeout_s: float = ANSWER_S
    ) -> httpx.Response:
        body = message.model_dump_json().encode()
        try:
            answer = await self._client.post(
                self._url + path,
                content=body,
                headers=self._sign("POST", path, "", body),
                timeout=httpx.Timeout(timeout_s, connect=CONNECT_S),
            )
        except httpx.TransportError as fault:
            raise self._unreachable(fault) from fault
        if not answer.is_success:
            self._raise_fault(answer)
        return answer

    def _sign(self, method: str, path: str, query: str, body: bytes) -> dict[str, str]:
        """Signs the path below the server's URL, which may have a path of its own."""
        headers = signed_headers(
            self._key.secret, self._key.host, method, path, query, body, now_s=time.time()
        )
        return {**headers, "accept-encoding": "identity"}

    def _unreachable(self, fault: httpx.TransportError) -> Unavailable:
        reason = str(fault) or type(fault).__name__
        return Unavailable(f"{self._url} does not answer: {reason}.")

    def _raise_fault(self, answer: httpx.Response) -> NoReturn:
        status, code = answer.status_code, code_of(answer)
        if answer.is_redirect:
            raise HostRefused(
                f"{self._url} sends its judge hosts elsewhere, to "
                f"{answer.headers.get('location', '')[:200]}: set DEEMSTER_JUDGEHOST_SERVER to "
                "the URL of the server itself."
            )
        if code == SignatureFault.EXPIRED:
            raise Unavailable(clock_message(answer, time.time()))
        if code in KEY_FAULTS:
            raise HostRefused(
                f"{self._url} does not accept the key of this judge host ({code}): check that "
                "it is the newest key for this server."
            )
        if code == REVOKED:
            raise HostRefused(f"An admin of {self._url} has revoked this judge host.")
        if code and status in {404, 409, 410}:
            raise NoLongerCounts(f"The server answered {status} ({code}).")
        if status in {400, 413, 415, 422}:
            raise MessageRefused(f"{self._url} refused a message ({status}, {code}).")
        raise Unavailable(f"{self._url} answered {status} ({code}).")


def parsed(kind: type[M], answer: httpx.Response) -> M:
    try:
        return kind.model_validate_json(answer.content)
    except ValidationError as fault:
        first = fault.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise Unavailable(
            f"{answer.url} answered what this version of Deemster does not understand "
            f"({place}: {fault_text(first)}): update the judge host or the server."
        ) from None


def code_of(answer: httpx.Response) -> str:
    """The `code` of an error; empty if the answer is from something else than Deemster."""
    try:
        found = answer.json()
    except ValueError:
        return ""
    code = found.get("code") if isinstance(found, dict) else None
    return str(code)[:100] if code else ""


def clock_message(answer: httpx.Response, now_s: float) -> str:
    try:
        server_s = parsedate_to_datetime(answer.headers["date"]).timestamp()
    except (KeyError, ValueError):
        difference = "differs from that of the server"
    else:
        ahead_s = round(now_s - server_s)
        difference = (
            f"is {abs(ahead_s)} s {'ahead of' if ahead_s > 0 else 'behind'} that of the server"
        )
    return f"The clock of this machine {difference}: set both by NTP. Requests are refused."


async def write_bounded(chunks: AsyncIterator[bytes], target: Path, max_bytes: int) -> None:
    size = 0
    with target.open("xb", buffering=0) as file:
        async for chunk in chunks:
            size += len(chunk)
            if size > max_bytes:
                raise Unavailable(
                    f"The test data of a task takes more than the {max_bytes >> 20} MB that "
                    "this judge host has for one problem: raise DEEMSTER_JUDGEHOST_MEMORY_MB."
                )
            await asyncio.to_thread(file.write, chunk)
