"""What the compatible APIs share: reading JSON, naming source files, running to the end."""

import base64
import binascii
import json
import math
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Final, TypeGuard

from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response

from deemster.api.app_state import AppState, app_state
from deemster.api.executions import ShownExecution
from deemster.api.http.body import read_body
from deemster.api.http.errors import Malformed, NoWorkers, error_response, kind_of
from deemster.api.lookups import installed_versions
from deemster.domain.account import Account
from deemster.domain.errors import Conflict, DeemsterError, NotFound, Refused
from deemster.domain.ids import ExecutionId
from deemster.domain.language import Language
from deemster.metrics import REFUSED
from deemster.pipeline.accept.available_languages import not_available
from deemster.pipeline.accept.executions import ExecuteRequest
from deemster.pipeline.verdict.cancel import cancel
from deemster.store import executions
from deemster.store.pool import connection

BODY_BYTES: Final = 32 << 20
QUEUE_S: Final = 60.0
"""How long a request waits for its turn; clients that know no queue expect one answer."""

Endpoint = Callable[[Request], Awaitable[Response]]
Object = dict[str, Any]


def answering_errors(
    endpoint: Endpoint, answer: Callable[[DeemsterError], Response]
) -> Endpoint:
    """Errors are answered as the clients of that API expect them."""

    async def run(request: Request) -> Response:
        try:
            return await endpoint(request)
        except DeemsterError as fault:
            REFUSED.labels(fault.code).inc()
            return answer(fault)

    return run


def with_bearer(request: Request, *own_headers: str) -> Request:
    """The request with its token after the word Bearer, wherever its client sends it."""
    headers = bearer_headers(request, *own_headers)
    return Request({**request.scope, "headers": headers}, request.receive)


def bearer_headers(request: HTTPConnection, *own_headers: str) -> list[tuple[bytes, bytes]]:
    """All headers of the request, with such an Authorization header.

    Some clients send it alone, or in a header of their own. Clients that have only an address
    can name it there as the password: then they send it in the scheme Basic.
    """
    given = request.headers.get("authorization", "").strip()
    scheme, _, rest = given.partition(" ")
    if not given:
        found = (request.headers.get(name, "").strip() for name in own_headers)
        token = next(filter(None, found), "")
    elif scheme.lower() == "basic":
        token = password_of(rest)
    else:
        token = "" if rest else scheme
    headers: list[tuple[bytes, bytes]] = list(request.scope["headers"])
    if not token:
        return headers
    others = [each for each in headers if each[0] != b"authorization"]
    return [*others, (b"authorization", b"Bearer " + token.encode("latin-1", "replace"))]


def password_of(credentials: str) -> str:
    """The password of a header in the scheme Basic, or the name if there is none."""
    try:
        decoded = base64.b64decode(credentials.strip()).decode("latin-1")
    except binascii.Error:
        return ""
    name, _, password = decoded.partition(":")
    return password or name


async def read_object(request: Request, most_bytes: int = BODY_BYTES) -> Object:
    """Call it once the caller is known, so that nobody else can make the judge read a body."""
    return parse_object(await read_body(request, most_bytes))


def parse_object(body: bytes) -> Object:
    """Refuses text that can't be written as UTF-8, and numbers that are none."""
    try:
        found = json.loads(body, parse_constant=refuse_constant)
        if b"\\u" in body:
            json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise Malformed("The body is not valid JSON.") from None
    if not isinstance(found, dict):
        raise Malformed("The body is not a JSON object.")
    return found


def refuse_constant(name: str) -> float:
    raise ValueError(name)


def is_number(value: object) -> TypeGuard[int | float]:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def text_list(value: object, what: str) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise Refused(f"{what} must be an array of strings")
    return value


def compiles(language: Language) -> bool:
    """False for a language whose sources are only checked before they run."""
    return language.compile is not None and bool(language.compile.output)


def name_main(
    language: Language, given: str, content: bytes, others: Mapping[str, bytes]
) -> tuple[dict[str, bytes], str | None]:
    """The files with the main one under a name that its language accepts, and that name."""
    if not others and "/" not in given:
        return {language.file_name(given, content.decode(errors="replace")): content}, None
    name = given
    if "/" not in given:
        name = language.file_name(given, content.decode(errors="replace"))
    if name in others:
        raise Refused(f"two files have the name {name!r}: rename one")
    return {name: content, **others}, name


async def installed(state: AppState) -> dict[str, list[str]]:
    """Versions by language, of all languages that a live worker has."""
    return installed_versions(await state.live_workers.get())


async def runnable_language(state: AppState, name: str) -> Language:
    """The language with this id or alias, if a live worker has it."""
    language = state.dependencies.catalogue.named(name)
    versions = await installed(state)
    if not versions:
        raise NoWorkers("No worker takes jobs, so nothing can be run: try again later.")
    if language.id not in versions:
        raise not_available(language.name, versions)
    return language


async def run_to_end(
    request: Request, caller: Account, asked: ExecuteRequest, wait_s: float
) -> ShownExecution | None:
    """Returns None if the execution has not ended after so many seconds: it is cancelled."""
    service = app_state(request).executions
    accepted = await service.start(request, caller, asked)
    shown = await service.wait(accepted.id, wait_s)
    if shown is None:
        await stop(app_state(request), accepted.id)
    return shown


async def stop(state: AppState, execution: ExecutionId) -> None:
    # It may end in this moment.
    with suppress(Conflict, NotFound):
        await cancel(state.pool, execution)


async def output_in_order(state: AppState, execution: ExecutionId) -> bytes:
    """Both streams, in the order in which the program wrote."""
    contents: list[bytes] = []
    async with connection(state.pool) as acquired:
        found = await executions.output_after(acquired, execution)
        while found:
            contents += (each.content for each in found)
            last = found[-1]
            found = await executions.output_after(
                acquired, execution, attempt=last.attempt, number=last.number
            )
    return b"".join(contents)


def message_of(fault: DeemsterError) -> str:
    """Leaves out what only the operator may know."""
    kind = kind_of(type(fault))
    return kind.detail or str(fault) or kind.title


def error_as(body: object, fault: DeemsterError) -> Response:
    """The body with the status and the headers that the error has everywhere else."""
    usual = error_response(fault, "")
    dropped = {"content-type", "content-length"}
    headers = {name: each for name, each in usual.headers.items() if name not in dropped}
    return JSONResponse(body, usual.status_code, headers)
