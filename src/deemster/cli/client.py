"""The client of `deemster submit` and `exec`: retries requests, never submits twice (I1)."""

import asyncio
import base64
import json
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
from websockets.asyncio.client import ClientConnection, connect

from deemster.cli.up.first_start import TOKEN_FILE, read_token
from deemster.domain.errors import Refused, Unavailable
from deemster.settings import TOKEN_VARIABLE, URL_VARIABLE, Server

TIMEOUT_S: Final = 15.0
PAUSES_S: Final = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
LONGEST_PAUSE_S: Final = 30.0
TRY_AGAIN: Final = frozenset({502, 503, 504})


class Client:
    def __init__(self, url: str, http: httpx.AsyncClient) -> None:
        self._url = url
        self._http = http

    @classmethod
    @asynccontextmanager
    async def open(cls, server: Server, data_dir: Path) -> AsyncIterator["Client"]:
        local = is_local(server.url)
        token = server.token or admin_token(server.url, data_dir if local else None)
        async with httpx.AsyncClient(
            headers={"Authorization": f"Bearer {token}"},
            timeout=TIMEOUT_S,
            trust_env=not local,  # no proxy for this machine itself
        ) as http:
            yield cls(server.url, http)

    async def submit(self, problem: str, language: str, name: str, content: bytes) -> Any:
        body: dict[str, Any] = {"problem_id": problem, "language": language}
        try:
            body["source_code"] = content.decode()
        except UnicodeDecodeError:
            encoded = base64.b64encode(content).decode()
            body["files"] = [{"name": name, "content_base64": encoded}]
        # All retries send the same key, so the server takes only one of them.
        headers = {"Idempotency-Key": str(uuid.uuid4())}
        return await self._ask("POST", "/v1/submissions", headers, body)

    async def read(self, submission: str, wait_s: float = 0) -> Any:
        """The server answers when the submission has ended, or after `wait_s`."""
        path = f"/v1/submissions/{submission}"
        if wait_s:
            path += f"?wait={wait_s:g}"
        return await self._ask("GET", path, {}, None, TIMEOUT_S + wait_s)

    async def execute(self, request: Mapping[str, Any]) -> Any:
        headers = {"Idempotency-Key": str(uuid.uuid4())}
        return await self._ask("POST", "/v1/executions", headers, request)

    async def type_in(self, execution: str, typed: Mapping[str, Any]) -> None:
        await self._ask("POST", f"/v1/executions/{execution}/input", {}, typed)

    async def events(self, execution: str) -> AsyncIterator[tuple[str, Any]]:
        """States, output and the end; a connection that is lost is opened again."""
        last, failures = "", 0
        while failures <= len(PAUSES_S):
            headers = {"Last-Event-ID": last} if last else {}
            path = f"/v1/executions/{execution}/events"
            try:
                async with self._http.stream(
                    "GET", self._url + path, headers=headers, timeout=TIMEOUT_S
                ) as answer:
                    if answer.status_code not in TRY_AGAIN and not answer.is_success:
                        await answer.aread()
                        self._content(answer)
                    async for event_id, event, data in parse_events(answer.aiter_lines()):
                        failures, last = 0, event_id or last
                        yield event, data
                        if event == "end":
                            return
            except httpx.TransportError:
                pass
            await asyncio.sleep(PAUSES_S[min(failures, len(PAUSES_S) - 1)])
            failures += 1
        raise Unavailable(f"{self._url} does not answer any more: {execution} may still run.")

    @asynccontextmanager
    async def terminal(self, execution: str, after: str) -> AsyncIterator[ClientConnection]:
        url = f"{self._url.replace('http', 'ws', 1)}/v1/executions/{execution}/terminal"
        headers = {"Authorization": self._http.headers["Authorization"]}
        async with connect(f"{url}?after={after}", additional_headers=headers) as socket:
            yield socket

    async def _ask(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: Any,
        timeout_s: float = TIMEOUT_S,
    ) -> Any:
        for pause_s in (*PAUSES_S, None):
            try:
                answer = await self._http.request(
                    method, self._url + path, headers=headers, json=body, timeout=timeout_s
                )
            except (httpx.InvalidURL, httpx.UnsupportedProtocol) as fault:
                raise Refused(
                    f"{self._url} is not a valid URL ({fault}): correct {URL_VARIABLE}."
                ) from fault
            except httpx.TransportError as fault:
                reason = f"{type(fault).__name__}: {fault}".rstrip(": ")
                wait_s = pause_s
            else:
                if answer.status_code not in TRY_AGAIN:
                    return self._content(answer)
                reason = detail_of(answer)
                wait_s = longer(pause_s, answer.headers.get("Retry-After", ""))
            if wait_s is not None:
                await asyncio.sleep(wait_s)
        raise Unavailable(
            f"{self._url} does not answer ({reason}): check that the service runs "
            f"there and that {URL_VARIABLE} is right."
        )

    def _content(self, answer: httpx.Response) -> Any:
        if answer.is_success:
            if answer.status_code == 204:
                return None
            try:
                return answer.json()
            except ValueError as fault:
                raise Unavailable(
                    f"The answer of {self._url} is not one of Deemster: check {URL_VARIABLE}."
                ) from fault
        if answer.status_code == 401:
            raise Refused(
                f"{self._url} refused the token: set {TOKEN_VARIABLE} to one that "
                "`deemster user token` made."
            )
        raise Refused(
            f"{self._url} refused the request ({answer.status_code}): {detail_of(answer)}"
        )


async def parse_events(lines: AsyncIterator[str]) -> AsyncIterator[tuple[str, str, Any]]:
    """Reads Server-Sent Events; comments are skipped."""
    fields: dict[str, str] = {}
    async for line in lines:
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        elif "event" in fields:
            yield fields.get("id", ""), fields["event"], json.loads(fields.get("data", "null"))
            fields = {}
        else:
            fields = {}


def admin_token(url: str, data_dir: Path | None) -> str:
    """The admin's token is only sent to a service on this machine."""
    if data_dir is not None:
        try:
            return read_token(data_dir / TOKEN_FILE)
        except OSError:
            pass
    raise Refused(
        f"{url} needs a token: set {TOKEN_VARIABLE} to one that `deemster user token` made."
    )


def is_local(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def detail_of(answer: httpx.Response) -> str:
    """The detail of a problem document (RFC 9457), or the HTTP reason."""
    try:
        found = answer.json()
    except ValueError:
        found = None
    detail = found.get("detail") if isinstance(found, dict) else None
    return str(detail or answer.reason_phrase or answer.status_code)


def longer(pause_s: float | None, retry_after: str) -> float | None:
    if pause_s is None or not retry_after.isdecimal():
        return pause_s
    return min(max(pause_s, float(retry_after)), LONGEST_PAUSE_S)
