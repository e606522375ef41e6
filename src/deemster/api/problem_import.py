"""Publishes, retires and downloads problems, for routes and pages of authors."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from deemster.api.app_state import app_state
from deemster.api.authentication import actor_of
from deemster.api.lookups import only_own, problem_of_path
from deemster.api.models.problems import ImportedOut, PublishedOut, RetiredOut, imported_out
from deemster.domain.account import Account
from deemster.domain.ids import ProblemId
from deemster.problems.importing import ImportRequest
from deemster.store.problems import ProblemOwnership

TAR: Final = "application/x-tar"


async def import_archive(
    request: Request,
    caller: Account,
    archive: Path,
    problem: ProblemId | None,
    *,
    publish: bool | None,
) -> ImportedOut:
    """A package without a directory of its own gets the name of its archive."""
    importer = app_state(request).dependencies.importer
    order = replace(import_request(request, caller, problem), publish=publish)
    imported = await importer.import_package(archive, order)
    forget_cached(request, imported.summary.id)
    return imported_out(imported)


async def publish_problem(request: Request, caller: Account, given: str) -> PublishedOut:
    problem = problem_of_path(given)
    importer = app_state(request).dependencies.importer
    actor = actor_of(request, caller)
    changed = await importer.publish(problem, actor, only_own=only_own(caller))
    forget_cached(request, problem)
    return PublishedOut(id=problem, published=True, changed=changed)


async def retire_problem(request: Request, caller: Account, given: str) -> RetiredOut:
    """Hides a problem and refuses new submissions. Old submissions stay."""
    problem = problem_of_path(given)
    importer = app_state(request).dependencies.importer
    await importer.retire(problem, actor_of(request, caller), only_own=only_own(caller))
    forget_cached(request, problem)
    return RetiredOut(id=problem, retired=True)


async def package_response(request: Request, caller: Account, given: str) -> Response:
    """The package of the revision in force as a tar, with all test data."""
    problem = problem_of_path(given)
    importer = app_state(request).dependencies.importer
    actor = actor_of(request, caller)
    found = await importer.find_package(problem, actor, only_own=only_own(caller))
    headers = {
        "Content-Disposition": f'attachment; filename="{problem}.tar"',
        "Content-Length": str(found.size_bytes),
    }
    return StreamingResponse(importer.read_package(found), headers=headers, media_type=TAR)


async def own_problem(
    request: Request, caller: Account, given: str
) -> tuple[ProblemId, ProblemOwnership]:
    """Finds a problem that the caller may change; for others it does not exist."""
    problem = problem_of_path(given)
    importer = app_state(request).dependencies.importer
    actor = actor_of(request, caller)
    return problem, await importer.check(problem, actor, only_own=only_own(caller))


def import_request(
    request: Request, caller: Account, problem: ProblemId | None
) -> ImportRequest:
    return ImportRequest(actor_of(request, caller), problem, only_own=only_own(caller))


def forget_cached(request: Request, problem: ProblemId) -> None:
    """Makes the change visible at once in this process."""
    state = app_state(request)
    state.cache_invalidation.forget_problems()
    state.dependencies.accept.forget(problem)
