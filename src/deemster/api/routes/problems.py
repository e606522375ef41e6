"""`/v1/problems` and `/v1/languages`: what can be solved, and in what."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api.authentication import Caller
from deemster.api.http.etag import IF_NONE_MATCH, UNCHANGED, tagged
from deemster.api.http.json_response import faults, json_of
from deemster.api.http.paging import DEFAULT_LIMIT, MOST, PageQuery, cut
from deemster.api.models.kinds import ResponseModel
from deemster.api.models.problems import (
    ProblemOut,
    ProblemPage,
    problem_line_out,
    problem_out,
    with_mine,
)
from deemster.api.state import app_state
from deemster.cache.cache import Loaded
from deemster.cache.kinds import LANGUAGES, MY_PROBLEMS, PROBLEM, PROBLEM_LIST
from deemster.domain.errors import NotFound
from deemster.domain.ids import ProblemId
from deemster.domain.language import Language
from deemster.store import counters, problems
from deemster.store.pool import connection
from deemster.store.workers import WorkerView

router = APIRouter(tags=["problems"])
MOST_LETTERS: Final = 128
USUAL_LIMITS: Final = (DEFAULT_LIMIT, MOST)


class ProblemQuery(PageQuery):
    mine: bool = False
    """Tells of each whether you solved it, or tried."""


@router.get(
    "/v1/problems",
    response_model=ProblemPage,
    openapi_extra={"parameters": [IF_NONE_MATCH]},
    responses={**UNCHANGED, **faults(401, 403, 422, 429, 503)},
)
async def list_problems(
    request: Request, caller: Caller, query: Annotated[ProblemQuery, Query()]
) -> Response:
    """By id."""
    state = app_state(request)
    after = ProblemId(query.place) if query.place else None

    async def look() -> Loaded:
        async with connection(state.pool) as acquired:
            found = await problems.page(acquired, after=after, limit=query.limit + 1)
            is_known = after is None or await problems.exists(acquired, after)
            page, cursor = cut(found, query.limit, lambda line: line.id)
            items = [problem_line_out(line) for line in page]
            if query.mine:
                ids = [line.id for line in page]
                solved = await counters.tried_problems(acquired, caller.id, ids)
                items = [with_mine(each, solved.get(ProblemId(each.id))) for each in items]
        told = ProblemPage(items=items, next_cursor=cursor)
        # Whoever makes up limits and cursors must not fill the memory that all share.
        is_usual = query.limit in USUAL_LIMITS and is_known
        return Loaded(json_of(told), keep_s=None if is_usual else 0)

    revision = await state.cache_invalidation.problems()
    selector = f"{query.limit}:{after or ''}"
    cache = state.cache
    if query.mine:
        own = f"{revision}:{selector}"
        entry = await cache.get_private(MY_PROBLEMS, caller, own, look, subject=caller.id)
    else:
        entry = await cache.get(PROBLEM_LIST, selector, look, version=revision)
    return tagged(request, entry)


@router.get(
    "/v1/problems/{id}",
    response_model=ProblemOut,
    openapi_extra={"parameters": [IF_NONE_MATCH]},
    responses={**UNCHANGED, **faults(401, 403, 404, 429, 503)},
)
async def show_problem(request: Request, _caller: Caller, id: str) -> Response:  # noqa: A002
    """Statements, samples, limits."""
    state = app_state(request)
    if len(id) > MOST_LETTERS or not id.isprintable():
        raise no_such()
    problem = ProblemId(id)

    async def look() -> Loaded | None:
        async with connection(state.pool) as acquired:
            sheet = await problems.get(acquired, problem)
            if sheet is None or sheet.retired:
                return None
            submits, accepted = await counters.problem_counts(acquired, problem)
        return Loaded(json_of(problem_out(sheet, submits=submits, accepted=accepted)))

    revision = await state.cache_invalidation.problems()
    entry = await state.cache.get(PROBLEM, problem, look, version=revision)
    if entry.body is None:
        raise no_such()
    return tagged(request, entry)


def no_such() -> NotFound:
    return NotFound("There is no such problem: see GET /v1/problems.")


class LanguageOut(ResponseModel):
    id: str
    name: str
    aliases: list[str]
    extensions: list[str]
    available: bool
    """Some worker that lives has its tools."""
    versions: list[str]
    """Of the compiler or interpreter, exactly; several where workers differ."""
    compile: list[str] | None
    """The compiler's command line; null: it is not compiled."""
    run: list[str]
    template: str


class LanguagesOut(ResponseModel):
    items: list[LanguageOut]


@router.get(
    "/v1/languages",
    response_model=LanguagesOut,
    openapi_extra={"parameters": [IF_NONE_MATCH]},
    responses={**UNCHANGED, **faults(401, 403, 429, 503)},
)
async def list_languages(request: Request, _caller: Caller) -> Response:
    """All that are known, with their templates, and by what someone can judge them now."""
    state = app_state(request)
    installed = versions_of(await state.live_workers.working())

    async def look() -> Loaded:
        items = [language_out(each, installed) for each in state.dependencies.catalogue]
        return Loaded(json_of(LanguagesOut(items=items)))

    selector = repr(sorted(installed.items()))
    return tagged(request, await state.cache.get(LANGUAGES, selector, look, version=0))


def versions_of(workers: Iterable[WorkerView]) -> dict[str, list[str]]:
    """By language, of all that some worker has."""
    found: dict[str, set[str]] = {}
    for worker in workers:
        for language in worker.languages:
            versions = found.setdefault(language, set())
            if language in worker.versions:
                versions.add(worker.versions[language])
    return {language: sorted(versions) for language, versions in found.items()}


def language_out(language: Language, installed: Mapping[str, Sequence[str]]) -> LanguageOut:
    return LanguageOut(
        id=language.id,
        name=language.name,
        aliases=list(language.aliases),
        extensions=list(language.extensions),
        available=language.id in installed,
        versions=list(installed.get(language.id, ())),
        compile=list(language.compile.argv) if language.compile else None,
        run=list(language.run.argv),
        template=language.template,
    )
