"""The API of Judge0 v1.13.1 as a translation to executions."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final
from uuid import UUID

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from deemster.api.authentication import BEARER
from deemster.api.compat.judge0_config import MOST_IN_BATCH
from deemster.api.compat.judge0_info import (
    about,
    all_languages,
    authenticate,
    config,
    isolate,
    languages,
    languages_of,
    license_text,
    show_language,
    statistics,
    statuses,
    system_info,
    version,
    workers,
)
from deemster.api.compat.judge0_request import API, InvalidFields, execute_request
from deemster.api.compat.translation import with_bearer
from deemster.api.executions import ShownExecution
from deemster.api.http.body import read_body
from deemster.api.http.direct_route import DirectRoute
from deemster.api.http.errors import error_response, kind_of, request_id_of
from deemster.api.permissions import COMPAT_PERMISSIONS, JUDGE0_PREFIXES
from deemster.api.state import AppState, app_state
from deemster.domain.account import Account, Role
from deemster.domain.errors import DeemsterError, LostRace, NotFound, Refused
from deemster.domain.ids import ExecutionId, execution_of_uuid, uuid_of
from deemster.metrics import REFUSED
from deemster.pipeline.deliver.judge0_submission import (
    DEFAULT_FIELDS,
    FIELDS,
    SOURCE_FIELDS,
    STATUSES,
    Judge0Submission,
)
from deemster.pipeline.deliver.judge0_values import NotUtf8
from deemster.store import executions
from deemster.store.pool import connection

BODY_BYTES: Final = 32 << 20
WAIT_S: Final = 120.0
"""The longest time that a request with `wait` takes; then it shows what is known."""
PER_PAGE: Final = 20
MOST_PER_PAGE: Final = 100
NOT_UTF8: Final = (
    "some attributes for {} cannot be converted to UTF-8, "
    "use base64_encoded=true query parameter"
)
ONE: Final = "this submission"
SEVERAL: Final = "one or more submissions"


class Judge0Error(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


async def create(request: Request) -> Response:
    caller = await BEARER(request)
    names, as_base64 = fields_of(request), is_true(request, "base64_encoded")
    found = await read_object(request)
    execution = await start(request, caller, found, as_base64=as_base64)
    token = str(uuid_of(execution))
    if not is_true(request, "wait"):
        return JSONResponse({"token": token}, 201)
    service = app_state(request).executions
    shown = await service.wait(execution, WAIT_S) or await service.read(execution)
    try:
        answer = await shown_fields(app_state(request), shown, names, as_base64=as_base64)
    except NotUtf8:
        answer = {"error": NOT_UTF8.format(ONE), "token": token}
    return JSONResponse(answer, 201)


async def create_batch(request: Request) -> Response:
    caller = await BEARER(request)
    as_base64 = is_true(request, "base64_encoded")
    asked = (await read_object(request)).get("submissions")
    check_batch(asked if isinstance(asked, list) else [])
    answers: list[Any] = []
    for each in asked or ():
        try:
            fields = each if isinstance(each, dict) else {}
            execution = await start(request, caller, fields, as_base64=as_base64)
            answers.append({"token": str(uuid_of(execution))})
        except InvalidFields as fault:
            answers.append(fault.errors)
        except DeemsterError as fault:
            answers.append({"base": [str(fault)]})
    return JSONResponse(answers, 201 if any("token" in each for each in answers) else 422)


async def start(
    request: Request, caller: Account, fields: Mapping[str, Any], *, as_base64: bool
) -> ExecutionId:
    state = app_state(request)
    known = await languages_of(request)

    # An archive takes long to unpack.
    asked = await asyncio.to_thread(
        execute_request,
        fields,
        as_base64=as_base64,
        find_language=known.get,
        most=state.executions.accept.most,
        allow_private=state.settings.webhook_allow_private,
    )
    accepted = await state.executions.start(request, caller, asked)
    return accepted.id


async def show(request: Request) -> Response:
    caller = await BEARER(request)
    names, as_base64 = fields_of(request), is_true(request, "base64_encoded")
    shown = await find(request, caller, request.path_params["token"])
    try:
        return JSONResponse(
            await shown_fields(app_state(request), shown, names, as_base64=as_base64)
        )
    except NotUtf8:
        raise Judge0Error(400, NOT_UTF8.format(ONE)) from None


async def show_batch(request: Request) -> Response:
    caller = await BEARER(request)
    names, as_base64 = fields_of(request), is_true(request, "base64_encoded")
    asked = request.headers.get("tokens") or request.query_params.get("tokens", "")
    tokens = [token.strip() for token in asked.split(",")] if asked.strip() else []
    check_batch(tokens)
    answers: list[Any] = []
    for token in tokens:
        try:
            shown = await find(request, caller, token)
            answers.append(
                await shown_fields(app_state(request), shown, names, as_base64=as_base64)
            )
        except NotFound:
            answers.append(None)
        except NotUtf8:
            raise Judge0Error(400, NOT_UTF8.format(SEVERAL)) from None
    return JSONResponse({"submissions": answers})


async def show_page(request: Request) -> Response:
    await BEARER(request)
    names, as_base64 = fields_of(request), is_true(request, "base64_encoded")
    page, per_page = integer(request, "page", 1), integer(request, "per_page", PER_PAGE)
    if page <= 0:
        raise Judge0Error(400, f"invalid page: {page}")
    if not 0 < per_page <= MOST_PER_PAGE:
        raise Judge0Error(400, f"invalid per_page: {per_page}")
    state = app_state(request)
    async with connection(state.pool) as acquired:
        total = await executions.count_of_api(acquired, API)
        views = await executions.page_of_api(
            acquired, API, limit=per_page, offset=min((page - 1) * per_page, total)
        )
        found = [
            ShownExecution(each, await executions.whole_output(acquired, each.id))
            for each in views
        ]
    try:
        answers = [
            await shown_fields(state, each, names, as_base64=as_base64) for each in found
        ]
    except NotUtf8:
        raise Judge0Error(400, NOT_UTF8.format(SEVERAL)) from None
    pages = max(1, -(-total // per_page))
    meta = {
        "current_page": page,
        "next_page": page + 1 if page < pages else None,
        "prev_page": page - 1 if page > 1 else None,
        "total_pages": pages,
        "total_count": total,
    }
    return JSONResponse({"submissions": answers, "meta": meta})


async def delete(request: Request) -> Response:
    caller = await BEARER(request)
    names = fields_of(request)
    shown = await find(request, caller, request.path_params["token"])
    submission = Judge0Submission(shown.view, shown.output)
    if not submission.ended:
        status = submission.status
        raise Judge0Error(
            400,
            f"submission cannot be deleted because its status is {status} ({STATUSES[status]})",
        )
    state = app_state(request)
    # Base64 can show whatever the program wrote; afterwards it is gone.
    answer = await shown_fields(state, shown, names, as_base64=True)
    async with connection(state.pool) as acquired:
        await executions.delete(acquired, shown.view.id)
    return JSONResponse(answer)


async def find(request: Request, caller: Account, token: str) -> ShownExecution:
    """Finds only executions that came by this API, also by their ids in our own API."""
    with suppress(ValueError):
        token = execution_of_uuid(UUID(token))
    shown = await app_state(request).executions.show(caller, token)
    if (shown.view.client or {}).get("api") != API:
        raise NotFound("There is no such submission.")
    return shown


async def shown_fields(
    state: AppState, shown: ShownExecution, names: Sequence[str], *, as_base64: bool
) -> dict[str, Any]:
    source = None
    if SOURCE_FIELDS.intersection(names):
        async with connection(state.pool) as acquired:
            source = await executions.source(acquired, shown.view.id)
    submission = Judge0Submission(shown.view, shown.output)
    if source is None:
        return submission.fields(names, source, as_base64=as_base64)
    # Archives take long to pack.
    return await asyncio.to_thread(submission.fields, names, source, as_base64=as_base64)


async def read_object(request: Request) -> dict[str, Any]:
    try:
        found = json.loads(await read_body(request, BODY_BYTES))
    except (ValueError, RecursionError):
        raise Judge0Error(400, "the body is not valid JSON") from None
    if not isinstance(found, dict):
        raise Judge0Error(400, "the body is not a JSON object")
    return found


def fields_of(request: Request) -> Sequence[str]:
    asked = [each.strip() for each in request.query_params.get("fields", "").split(",")]
    if asked == [""]:
        return DEFAULT_FIELDS
    if "*" in asked:
        return FIELDS
    unknown = [each for each in asked if each not in FIELDS]
    if unknown:
        raise Judge0Error(400, f"invalid fields: [{', '.join(unknown)}]")
    return asked


def check_batch(items: Sequence[object]) -> None:
    if len(items) > MOST_IN_BATCH:
        raise Judge0Error(
            400,
            f"number of submissions in a batch should be less than or equal to {MOST_IN_BATCH}",
        )
    if not items:
        raise Judge0Error(400, "there should be at least one submission in a batch")


def is_true(request: Request, name: str) -> bool:
    return request.query_params.get(name) == "true"


def integer(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name, "")
    try:
        return int(text[:9]) if text else default
    except ValueError:
        return 0


Endpoint = Callable[[Request], Awaitable[Response]]
ENDPOINTS: Final[dict[tuple[str, str], Endpoint]] = {
    ("POST", "/submissions"): create,
    ("GET", "/submissions"): show_page,
    ("POST", "/submissions/batch"): create_batch,
    ("GET", "/submissions/batch"): show_batch,
    ("GET", "/submissions/{token}"): show,
    ("DELETE", "/submissions/{token}"): delete,
    ("GET", "/languages"): languages,
    ("GET", "/languages/all"): all_languages,
    ("GET", "/languages/{id}"): show_language,
    ("GET", "/statuses"): statuses,
    ("GET", "/config_info"): config,
    ("GET", "/system_info"): system_info,
    ("GET", "/statistics"): statistics,
    ("GET", "/workers"): workers,
    ("GET", "/about"): about,
    ("GET", "/version"): version,
    ("GET", "/isolate"): isolate,
    ("GET", "/license"): license_text,
    ("POST", "/authenticate"): authenticate,
    ("POST", "/authorize"): authenticate,
}


def with_judge0_errors(endpoint: Endpoint, token_header: str) -> Endpoint:
    async def call(request: Request) -> Response:
        try:
            return await endpoint(with_bearer(request, token_header, "x-auth-token"))
        except InvalidFields as fault:
            return JSONResponse(fault.errors, 422)
        except Judge0Error as fault:
            return JSONResponse({"error": str(fault)}, fault.status)
        except DeemsterError as fault:
            return error_answer(request, fault)

    return call


def error_answer(request: Request, fault: DeemsterError) -> Response:
    """With the status and headers that the error has everywhere else."""
    REFUSED.labels(fault.code).inc()
    usual = error_response(fault, request_id_of(request))
    kind = kind_of(type(fault))
    message = kind.detail or str(fault)
    refused = isinstance(fault, Refused | LostRace) and usual.status_code == 422
    answer = JSONResponse(
        {"base": [message]} if refused else {"error": message}, usual.status_code
    )
    for name, value in usual.headers.items():
        if name not in {"content-type", "content-length"}:
            answer.headers[name] = value
    return answer


def make_routes() -> list[BaseRoute]:
    """Admins' routes read their token from Judge0's second header, too."""
    routes: list[BaseRoute] = []
    for prefix in JUDGE0_PREFIXES:
        for (method, path), endpoint in ENDPOINTS.items():
            need = COMPAT_PERMISSIONS["judge0"][method, prefix + path]
            is_admins = need is not None and need.role is Role.ADMIN
            header = "x-auth-user" if is_admins else "x-auth-token"
            routes.append(
                DirectRoute(
                    prefix + path, with_judge0_errors(endpoint, header), methods=[method]
                )
            )
    return routes


routes: Final = make_routes()
