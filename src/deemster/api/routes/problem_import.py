"""`/v1/problems` for authors: import a package, revise a problem, retire it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api.authentication import Caller, actor_of
from deemster.api.http.idempotency_key import IDEMPOTENCY_KEY, idempotency_key
from deemster.api.http.idempotent_replay import answer_once, answered_before
from deemster.api.http.json_response import answer, faults
from deemster.api.http.upload import ARCHIVES, check_archive, receive_into
from deemster.api.models.kinds import RequestModel, ResponseModel
from deemster.api.models.submission_requests import Plain
from deemster.api.state import app_state
from deemster.domain.account import Account, Role
from deemster.domain.errors import NotFound, Refused
from deemster.domain.ids import PROBLEM, ProblemId, parse_problem_id
from deemster.domain.limits import MIB
from deemster.problems.importing import UNNAMED, Imported, ImportRequest, put_in_force
from deemster.store.pool import connection, transaction

router = APIRouter(tags=["problems"])
PATH: Final = "/v1/problems"
BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "description": "A package as a zip or a tar (plain, gzip, bzip2, xz).",
        "content": {
            kind: {"schema": {"type": "string", "format": "binary"}} for kind in ARCHIVES
        },
    }
}


class ImportQuery(RequestModel):
    id: Plain | None = None
    """Such as `prob_sum`; by default from the package's name."""


class ImportedOut(ResponseModel):
    id: str
    title: str
    revision: int
    digest: str
    """Of all its content: the same package gives the same one."""
    time_ms: int
    memory_bytes: int
    cases: int
    changed: bool
    """false: this revision was in force already."""
    warnings: list[str]
    """What in the package was not understood or ignored."""


class RetiredOut(ResponseModel):
    id: str
    retired: bool


@router.post(
    PATH,
    status_code=201,
    response_model=ImportedOut,
    openapi_extra={**BODY, "parameters": [IDEMPOTENCY_KEY]},
    responses={
        200: {"model": ImportedOut, "description": "This revision was in force already"},
        **faults(401, 403, 408, 409, 413, 415, 422, 429, 503),
    },
)
async def import_problem(
    request: Request, caller: Caller, query: Annotated[ImportQuery, Query()]
) -> Response:
    """Takes a package in; the problem can be solved at once, and is its author's.

    The same package is the same revision, and comes back into force if another took its place
    or the problem was retired: unless it comes again with the same key.
    """
    idempotency_key(request)  # a wrong one is told before the package is read
    named = parse_problem_id(query.id) if query.id is not None else None
    order = order_of(request, caller, named)
    async with arrived(request, named) as (archive, digest):
        asked = f"{named or ''}\n{digest}"
        async with connection(app_state(request).pool) as acquired:
            told = await answered_before(request, caller, acquired, asked)
        return told or await take_once(request, caller, archive, order, asked)


@router.put(
    PATH + "/{id}",
    response_model=ImportedOut,
    openapi_extra=BODY,
    responses=faults(401, 403, 404, 408, 413, 415, 422, 429, 503),
)
async def revise_problem(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """A new revision: what is handed in from now on is judged by it. Also brings it back."""
    problem = known(id)
    await app_state(request).dependencies.importer.check(
        problem, actor_of(request, caller), only_own=is_author(caller)
    )
    order = order_of(request, caller, problem)
    async with arrived(request, problem) as (archive, _):
        imported = await app_state(request).dependencies.importer.import_package(archive, order)
    forget(request, problem)
    return answer(imported_out(imported))


@router.delete(
    PATH + "/{id}", response_model=RetiredOut, responses=faults(401, 403, 404, 429, 503)
)
async def retire_problem(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Nobody finds or solves it any more; what was handed in stays. PUT brings it back."""
    problem = known(id)
    state = app_state(request)
    actor = actor_of(request, caller)
    await state.dependencies.importer.retire(problem, actor, only_own=is_author(caller))
    forget(request, problem)
    return answer(RetiredOut(id=problem, retired=True))


@asynccontextmanager
async def arrived(
    request: Request, problem: ProblemId | None
) -> AsyncIterator[tuple[Path, str]]:
    """The package that was sent, and its hash."""
    dependencies = app_state(request).dependencies
    most_bytes = dependencies.settings.package_mb * MIB
    check_archive(request, most_bytes)
    async with dependencies.importer.upload_directory() as place:
        # A package whose files lie in no directory of their own is named by its archive.
        archive = place / (problem.removeprefix(f"{PROBLEM}_") if problem else UNNAMED)
        yield archive, await receive_into(request, archive, most_bytes)


async def take_once(
    request: Request, caller: Account, archive: Path, order: ImportRequest, asked: str
) -> Response:
    """Of those who come at once with one key, who is first puts it in force."""
    dependencies = app_state(request).dependencies
    async with (
        dependencies.importer.prepared_import(archive, order) as ready,
        transaction(dependencies.pool) as acquired,
    ):

        async def make() -> Response:
            imported = await put_in_force(acquired, ready)
            where = {"Location": f"{PATH}/{imported.summary.id}"}
            return answer(imported_out(imported), 201 if imported.is_new else 200, where)

        told = await answer_once(request, caller, acquired, asked, make)
    forget(request, ready.summary.id)
    return told


def order_of(request: Request, caller: Account, problem: ProblemId | None) -> ImportRequest:
    return ImportRequest(actor_of(request, caller), problem, only_own=is_author(caller))


def forget(request: Request, problem: ProblemId) -> None:
    """What this process remembers of it, so that its author sees what they did."""
    state = app_state(request)
    state.cache_invalidation.forget_problems()
    state.dependencies.accept.forget(problem)


def is_author(caller: Account) -> bool:
    """And no more: admins change all problems."""
    return caller.role is not Role.ADMIN


def known(given: str) -> ProblemId:
    try:
        problem = parse_problem_id(given)
    except Refused:
        problem = None
    if problem != given:
        raise NotFound("There is no such problem, or it is not yours.")
    return problem


def imported_out(imported: Imported) -> ImportedOut:
    sheet = imported.summary
    return ImportedOut(
        id=sheet.id,
        title=sheet.title,
        revision=sheet.number,
        digest=sheet.digest,
        time_ms=sheet.time_ms,
        memory_bytes=sheet.memory_bytes,
        cases=sheet.cases,
        changed=imported.is_new,
        warnings=list(imported.warnings),
    )
