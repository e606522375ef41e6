"""`/v1/problems` and `/v1/languages`: list and show problems, and list languages."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api.authentication import Caller
from deemster.api.http.body import to_json
from deemster.api.http.errors import errors
from deemster.api.http.etag import IF_NONE_MATCH, NOT_MODIFIED, etag_response
from deemster.api.http.paging import DEFAULT_LIMIT, MAX_LIMIT, cut
from deemster.api.lookups import installed_versions
from deemster.api.models.problems import (
    LanguagesOut,
    ProblemOut,
    ProblemPage,
    ProblemQuery,
    language_out,
    problem_item,
    problem_out,
    with_mine,
)
from deemster.api.state import app_state
from deemster.cache.cache import Loaded
from deemster.cache.kinds import LANGUAGES, MY_PROBLEMS, PROBLEM, PROBLEM_LIST
from deemster.domain.errors import NotFound
from deemster.domain.ids import ProblemId
from deemster.store import counters, problems
from deemster.store.pool import connection

router = APIRouter(tags=["problems"])
MAX_ID_CHARS: Final = 128
CACHED_LIMITS: Final = (DEFAULT_LIMIT, MAX_LIMIT)


@router.get(
    "/v1/problems",
    response_model=ProblemPage,
    openapi_extra={"parameters": [IF_NONE_MATCH]},
    responses={**NOT_MODIFIED, **errors(422)},
)
async def list_problems(
    request: Request, caller: Caller, query: Annotated[ProblemQuery, Query()]
) -> Response:
    """Lists problems by id."""
    state = app_state(request)
    after = ProblemId(query.last_id) if query.last_id else None

    async def load() -> Loaded:
        async with connection(state.pool) as acquired:
            found = await problems.page(acquired, after=after, limit=query.limit + 1)
            is_known = after is None or await problems.exists(acquired, after)
            page, cursor = cut(found, query.limit, lambda item: item.id)
            items = [problem_item(item) for item in page]
            if query.mine:
                ids = [item.id for item in page]
                solved = await counters.tried_problems(acquired, caller.id, ids)
                items = [with_mine(each, solved.get(ProblemId(each.id))) for each in items]
        # Invented limits and cursors must not fill the cache.
        is_cached = query.limit in CACHED_LIMITS and is_known
        found_page = ProblemPage(items=items, next_cursor=cursor)
        return Loaded(to_json(found_page), keep_s=None if is_cached else 0)

    version = await state.cache_invalidation.problems_version()
    selector = f"{query.limit}:{after or ''}"
    if query.mine:
        entry = await state.cache.get_private(
            MY_PROBLEMS, caller, f"{version}:{selector}", load, subject=caller.id
        )
    else:
        entry = await state.cache.get(PROBLEM_LIST, selector, load, version=version)
    return etag_response(request, entry)


@router.get(
    "/v1/problems/{id}",
    response_model=ProblemOut,
    openapi_extra={"parameters": [IF_NONE_MATCH]},
    responses={**NOT_MODIFIED, **errors(404)},
)
async def show_problem(request: Request, _caller: Caller, id: str) -> Response:  # noqa: A002
    """Shows the statements, samples and limits of a problem."""
    state = app_state(request)
    if len(id) > MAX_ID_CHARS or not id.isprintable():
        raise unknown_problem()
    problem = ProblemId(id)

    async def load() -> Loaded | None:
        async with connection(state.pool) as acquired:
            summary = await problems.get(acquired, problem)
            if summary is None or summary.retired:
                return None
            submits, accepted = await counters.problem_counts(acquired, problem)
        return Loaded(to_json(problem_out(summary, submits=submits, accepted=accepted)))

    version = await state.cache_invalidation.problems_version()
    entry = await state.cache.get(PROBLEM, problem, load, version=version)
    if entry.body is None:
        raise unknown_problem()
    return etag_response(request, entry)


def unknown_problem() -> NotFound:
    return NotFound("There is no such problem: see GET /v1/problems.")


@router.get(
    "/v1/languages",
    response_model=LanguagesOut,
    openapi_extra={"parameters": [IF_NONE_MATCH]},
    responses={**NOT_MODIFIED},
)
async def list_languages(request: Request, _caller: Caller) -> Response:
    """Lists all languages with their templates, and the versions that live workers have."""
    state = app_state(request)
    installed = installed_versions(await state.live_workers.get())

    async def load() -> Loaded:
        items = [language_out(each, installed) for each in state.dependencies.catalogue]
        return Loaded(to_json(LanguagesOut(items=items)))

    selector = repr(sorted(installed.items()))
    entry = await state.cache.get(LANGUAGES, selector, load, version=0)
    return etag_response(request, entry)
