"""Judge0's routes for submissions: create, show, list and delete them, alone or in batches."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final
from uuid import UUID

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from deemster.api.app_state import AppState, app_state
from deemster.api.authentication import BEARER
from deemster.api.compat.error_answers import message_of
from deemster.api.compat.judge0_config import MAX_IN_BATCH
from deemster.api.compat.judge0_info import languages_of
from deemster.api.compat.judge0_request import API, InvalidFields, execute_request
from deemster.api.compat.request_json import read_object
from deemster.api.executions import ShownExecution
from deemster.domain.account import Account
from deemster.domain.errors import DeemsterError, LimitReached, NotFound, Unavailable
from deemster.domain.ids import ExecutionId, execution_of_uuid, uuid_of
from deemster.pipeline.deliver.judge0_format import (
    DEFAULT_FIELDS,
    FIELDS,
    SOURCE_FIELDS,
    STATUSES,
    Judge0Submission,
)
from deemster.pipeline.deliver.judge0_values import NotUtf8
from deemster.store import executions
from deemster.store.pool import connection

WAIT_S: Final = 120.0
"""The longest time that a request with `wait` takes; then it shows what is known."""
PER_PAGE: Final = 20
MAX_PER_PAGE: Final = 100
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
            if isinstance(fault, LimitReached | Unavailable) and not answers:
                raise
            answers.append({"base": [message_of(fault)]})
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
    tokens = listed(request.headers.get("tokens") or request.query_params.get("tokens", ""))
    check_batch(tokens)
    answers: list[Any] = []
    for token in tokens:
        try:
            shown = await find(request, caller, token)
        except NotFound:
            answers.append(None)
        else:
            answers.append(await one_of_several(request, shown, names, as_base64=as_base64))
    return JSONResponse({"submissions": answers})


async def one_of_several(
    request: Request, shown: ShownExecution, names: Sequence[str], *, as_base64: bool
) -> dict[str, Any]:
    try:
        return await shown_fields(app_state(request), shown, names, as_base64=as_base64)
    except NotUtf8:
        raise Judge0Error(400, NOT_UTF8.format(SEVERAL)) from None


async def show_page(request: Request) -> Response:
    await BEARER(request)
    names, as_base64 = fields_of(request), is_true(request, "base64_encoded")
    page, per_page = integer(request, "page", 1), integer(request, "per_page", PER_PAGE)
    if page <= 0:
        raise Judge0Error(400, f"invalid page: {page}")
    if not 0 < per_page <= MAX_PER_PAGE:
        raise Judge0Error(400, f"invalid per_page: {per_page}")
    state = app_state(request)
    async with connection(state.pool) as acquired:
        total = await executions.count_of_api(acquired, API)
        offset = min((page - 1) * per_page, total)
        ids = await executions.ids_of_api(acquired, API, limit=per_page, offset=offset)
    answers = []
    for each in ids:
        # One after the other: their files and output can be large.
        with suppress(NotFound):  # it was deleted meanwhile
            shown = await state.executions.read(each)
            answers.append(await one_of_several(request, shown, names, as_base64=as_base64))
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


def fields_of(request: Request) -> Sequence[str]:
    asked = listed(request.query_params.get("fields", ""))
    if not asked:
        return DEFAULT_FIELDS
    if "*" in asked:
        return FIELDS
    unknown = [each for each in asked if each not in FIELDS]
    if unknown:
        raise Judge0Error(400, f"invalid fields: [{', '.join(unknown)}]")
    return asked


def listed(text: str) -> list[str]:
    """As Ruby splits it: what is missing at the end does not count."""
    kept = text.strip().rstrip(",")
    return [each.strip() for each in kept.split(",")] if kept else []


def check_batch(items: Sequence[object]) -> None:
    if len(items) > MAX_IN_BATCH:
        raise Judge0Error(
            400,
            f"number of submissions in a batch should be less than or equal to {MAX_IN_BATCH}",
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
