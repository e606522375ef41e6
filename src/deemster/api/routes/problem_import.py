"""`/v1/problems` for authors: import, revise, publish, download and retire problems."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from deemster.api import problem_import
from deemster.api.app_state import app_state
from deemster.api.authentication import Caller
from deemster.api.http.body import json_response
from deemster.api.http.errors import errors
from deemster.api.http.idempotent_replay import (
    IDEMPOTENCY_KEY,
    find_first_response,
    idempotency_key,
    respond_once,
)
from deemster.api.http.upload import ARCHIVES, check_archive, receive_into
from deemster.api.models.problems import (
    ImportedOut,
    ProblemImportQuery,
    PublishedOut,
    RetiredOut,
    imported_out,
)
from deemster.api.problem_import import TAR, forget_cached, import_request, own_problem
from deemster.domain.account import Account
from deemster.domain.ids import PROBLEM, ProblemId, parse_problem_id
from deemster.domain.limits import MIB
from deemster.problems.importing import UNNAMED, ImportRequest, put_in_force
from deemster.store.pool import connection, transaction

router = APIRouter(tags=["problems"])
PATH: Final = "/v1/problems"
TAR_ANSWER: Final[dict[str, Any]] = {
    "description": "The package",
    "content": {TAR: {"schema": {"type": "string", "format": "binary"}}},
}
BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "description": "A problem package as zip or tar (plain, gzip, bzip2 or xz).",
        "content": {
            media_type: {"schema": {"type": "string", "format": "binary"}}
            for media_type in ARCHIVES
        },
    }
}


@router.post(
    PATH,
    status_code=201,
    response_model=ImportedOut,
    openapi_extra={**BODY, **IDEMPOTENCY_KEY},
    responses={
        200: {"model": ImportedOut, "description": "This revision was in force already"},
        **errors(408, 409, 413, 415, 422),
    },
)
async def import_problem(
    request: Request, caller: Caller, query: Annotated[ProblemImportQuery, Query()]
) -> Response:
    """Imports a package. The problem can be solved at once, and belongs to the caller. With
    `publish=false`, only its author and admins see it and submit to it until it is published.

    The same package is the same revision. If another revision replaced it, or the problem was
    retired, a new import puts it in force again; a repeat with the same Idempotency-Key does
    not.
    """
    idempotency_key(request)  # refuses an invalid key before the package is read
    problem = parse_problem_id(query.id) if query.id is not None else None
    async with received_package(request, caller, problem) as (archive, digest):
        content = f"{problem or ''}\n{digest}"
        if query.publish is not None:
            content += f"\npublish={query.publish}"
        async with connection(app_state(request).pool) as acquired:
            first = await find_first_response(request, caller, acquired, content)
        order = replace(import_request(request, caller, problem), publish=query.publish)
        return first or await import_once(request, caller, archive, order, content)


@router.put(
    PATH + "/{id}",
    response_model=ImportedOut,
    openapi_extra=BODY,
    responses=errors(404, 408, 413, 415, 422),
)
async def revise_problem(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Imports a new revision, which judges all later submissions. A retired problem returns."""
    importer = app_state(request).dependencies.importer
    problem, _ = await own_problem(request, caller, id)
    async with received_package(request, caller, problem) as (archive, _):
        imported = await importer.import_package(
            archive, import_request(request, caller, problem)
        )
    forget_cached(request, problem)
    return json_response(imported_out(imported))


@router.post(PATH + "/{id}/publish", response_model=PublishedOut, responses=errors(404))
async def publish_problem(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Shows a problem to all users that was imported with `publish=false`."""
    return json_response(await problem_import.publish_problem(request, caller, id))


@router.get(
    PATH + "/{id}/package",
    response_class=StreamingResponse,
    responses={200: TAR_ANSWER, **errors(404)},
)
async def download_package(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Downloads the package of the revision in force as a tar, with all test data."""
    return await problem_import.package_response(request, caller, id)


@router.delete(PATH + "/{id}", response_model=RetiredOut, responses=errors(404))
async def retire_problem(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Hides a problem and refuses new submissions. Old submissions stay; PUT restores it."""
    return json_response(await problem_import.retire_problem(request, caller, id))


@asynccontextmanager
async def received_package(
    request: Request, caller: Account, problem: ProblemId | None
) -> AsyncIterator[tuple[Path, str]]:
    """Yields the uploaded package, and its hash."""
    state = app_state(request)
    max_bytes = state.settings.package_mb * MIB
    check_archive(request, max_bytes)
    async with state.dependencies.importer.upload_directory(caller.id) as directory:
        # A package without a directory of its own gets the name of its archive.
        archive = directory / (problem.removeprefix(f"{PROBLEM}_") if problem else UNNAMED)
        yield archive, await receive_into(request, archive, max_bytes)


async def import_once(
    request: Request, caller: Account, archive: Path, order: ImportRequest, content: str
) -> Response:
    """Of concurrent requests with one key, only the first puts the package in force."""
    state = app_state(request)
    async with (
        state.dependencies.importer.prepared_import(archive, order) as ready,
        transaction(state.pool) as acquired,
    ):

        async def create() -> Response:
            imported = await put_in_force(acquired, ready)
            headers = {"Location": f"{PATH}/{imported.summary.id}"}
            return json_response(
                imported_out(imported), 201 if imported.is_new else 200, headers
            )

        response = await respond_once(request, caller, acquired, content, create)
    forget_cached(request, ready.summary.id)
    return response
