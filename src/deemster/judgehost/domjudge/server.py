"""Calls the API of a DOMjudge server, and repeats calls that fail for now (M7)."""

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final, Self
from urllib.parse import quote, urlsplit

import httpx
import structlog

from deemster.domain.errors import Refused
from deemster.judgehost.backoff import Backoff
from deemster.judgehost.domjudge.tasks import (
    Judgehost,
    JudgingTask,
    ServedFile,
    ServedLanguage,
    ServerConfig,
    ServerUnavailable,
    Task,
    Unfinished,
    VersionCommands,
    parse,
    read_tasks,
)

log = structlog.get_logger()

API_PATH: Final = "/api/v4"
TIMEOUT_S: Final = 60.0
RETRIED_STATUSES: Final = frozenset({408, 425, 429})
BACKOFF: Final = Backoff(first_s=1.0, longest_s=30.0, tries=8)
"""A call is given up after about a minute."""
SHOWN_BYTES: Final = 500

Form = Mapping[str, str]


@dataclass(frozen=True, slots=True, repr=False)
class Login:
    url: str
    user: str
    password: str


class ServerRefused(Refused):
    """The server refuses a call; repeating the call does not help."""

    code = "domjudge_refused"


class NotServed(ServerRefused):
    """The server does not have the object, or the route."""

    code = "domjudge_not_served"


class LoginRefused(ServerRefused):
    """The server does not accept this user, or the user has not the role `judgehost`."""

    code = "domjudge_login"


class DomServer:
    """One DOMjudge server, for all hosts of this process.

    Calls raise ServerUnavailable when the server did not answer for long, and ServerRefused
    when it does not have the object, or does not want the report.
    """

    def __init__(self, http: httpx.AsyncClient, backoff: Backoff) -> None:
        self._http = http
        self._backoff = backoff

    @classmethod
    @asynccontextmanager
    async def open(cls, login: Login, backoff: Backoff) -> AsyncIterator[Self]:
        async with httpx.AsyncClient(
            base_url=f"{api_url(login.url)}/",
            auth=httpx.BasicAuth(login.user, login.password),
            timeout=TIMEOUT_S,
            trust_env=False,
            verify=ssl.create_default_context(),  # also has an organisation's own certificates
        ) as http:
            yield cls(http, backoff)

    async def register(self, host: str) -> list[Unfinished]:
        """Makes the host known; the server takes back all work that the host has left."""
        found = await self._call("POST", "judgehosts", {"hostname": host})
        return parse(list[Unfinished], found or [])

    async def fetch_work(self, host: str) -> list[Task]:
        return read_tasks(await self._call("POST", "judgehosts/fetch-work", {"hostname": host}))

    async def is_enabled(self, host: str) -> bool:
        found = parse(list[Judgehost], await self._call("GET", "judgehosts"))
        return all(each.enabled for each in found if each.hostname == host)

    async def config(self) -> ServerConfig:
        return parse(ServerConfig, await self._call("GET", "config"))

    async def languages(self) -> list[ServedLanguage]:
        return parse(list[ServedLanguage], await self._call("GET", "languages"))

    async def source_files(self, task: JudgingTask) -> list[ServedFile]:
        if task.contest is not None:
            with suppress(NotServed):  # by versions before 10, whatever the task names
                return await self._files(f"source/{task.contest}/{task.submission}")
        return await self._files(f"source/{task.submission}")

    async def files(self, kind: str, name: str) -> list[ServedFile]:
        """`kind` is testcase, or the kind of an executable."""
        return await self._files(f"{kind}/{name}")

    async def version_commands(self, task: int) -> VersionCommands:
        found = await self._call("GET", f"judgehosts/get_version_commands/{task}")
        return parse(VersionCommands, found or {})

    async def check_versions(self, host: str, task: int, versions: Mapping[str, bytes]) -> None:
        form = {"hostname": host} | {name: encoded(text) for name, text in versions.items()}
        await self._call("PUT", f"judgehosts/check_versions/{task}", form)

    async def update_judging(self, host: str, task: int, form: Form) -> None:
        await self._call("PUT", f"judgehosts/update-judging/{quote(host)}/{task}", form)

    async def add_judging_run(self, host: str, task: int, form: Form) -> bool:
        """Returns whether the server wants the remaining test cases judged, too."""
        path = f"judgehosts/add-judging-run/{quote(host)}/{task}"
        return bool(await self._call("POST", path, form))

    async def add_debug_info(self, host: str, task: int, form: Form) -> None:
        await self._call("POST", f"judgehosts/add-debug-info/{quote(host)}/{task}", form)

    async def report_internal_error(self, form: Form) -> Any:
        """Returns the number of the error on the server."""
        return await self._call("POST", "judgehosts/internal-error", form)

    async def _files(self, path: str) -> list[ServedFile]:
        return parse(list[ServedFile], await self._call("GET", f"judgehosts/get_files/{path}"))

    async def _call(self, method: str, path: str, form: Form | None = None) -> Any:
        pauses = self._backoff.pauses()
        while True:
            try:
                return await self._try(method, path, form)
            except ServerUnavailable as fault:
                pause_s = next(pauses, None)
                if pause_s is None:
                    raise
                log.warning(
                    "domjudge.call_failed", path=path, error=str(fault), again_in_s=pause_s
                )
                await asyncio.sleep(pause_s)

    async def _try(self, method: str, path: str, form: Form | None) -> Any:
        try:
            response = await self._http.request(method, path, data=form)
        except httpx.HTTPError as fault:
            raise ServerUnavailable(
                f"The DOMjudge server did not answer {method} {path} "
                f"({type(fault).__name__}: {fault})."
            ) from fault
        if response.is_success:
            return read_body(response, f"{method} {path}")
        raise failure(response, f"{method} {path}")


def read_body(response: httpx.Response, call: str) -> Any:
    if not response.content:
        return None
    try:
        return json.loads(response.content)
    except ValueError as fault:
        raise ServerUnavailable(f"The DOMjudge server answered {call} without JSON.") from fault


def failure(response: httpx.Response, call: str) -> ServerRefused | ServerUnavailable:
    status = response.status_code
    text = response.content[:SHOWN_BYTES].decode(errors="replace")
    if status >= 500 or status in RETRIED_STATUSES:
        return ServerUnavailable(f"The DOMjudge server answered {call} with {status}: {text}")
    if status in {401, 403}:
        return LoginRefused(
            f"The DOMjudge server refuses {call} ({status}): check DEEMSTER_DOMJUDGE_USER and "
            "DEEMSTER_DOMJUDGE_PASSWORD, and that this user has the role `judgehost`."
        )
    if response.is_redirect:
        return ServerRefused(
            f"The DOMjudge server redirects {call} to {response.headers.get('location')}: "
            "use the URL that it redirects to."
        )
    kind = NotServed if status == 404 else ServerRefused
    return kind(f"The DOMjudge server refuses {call} ({status}): {text}")


def api_url(url: str) -> str:
    """Adds the path of the API to the URL of the web interface, unless it is there."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise Refused(f"{url!r} is no URL of a DOMjudge server: use https://HOST/PATH.")
    if parts.username or parts.password:
        raise Refused(
            "Other users of this machine can see a password on the command line: set "
            "DEEMSTER_DOMJUDGE_USER and DEEMSTER_DOMJUDGE_PASSWORD_FILE instead."
        )
    path = parts.path.rstrip("/")
    if "/api" not in path:
        path += API_PATH
    return f"{parts.scheme}://{parts.netloc}{path}"


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def decoded(files: Sequence[ServedFile]) -> dict[str, bytes]:
    try:
        return {file.filename: base64.b64decode(file.content, validate=True) for file in files}
    except ValueError as fault:
        raise ServerUnavailable(
            "The DOMjudge server sent a file that is not base64."
        ) from fault
