"""`/v1/problems` and `/v1/languages`: what can be solved, and in what."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api.answering import answer, faults
from deemster.api.caller import Caller
from deemster.api.desk import desk_of
from deemster.api.paging import PageQuery, cut
from deemster.api.problem_out import ProblemOut, ProblemPage, problem_line_out, problem_out
from deemster.api.shapes import Told
from deemster.domain.errors import NotFound
from deemster.domain.ids import ProblemId
from deemster.domain.language import Language
from deemster.store import problems, tallies
from deemster.store.pool import connection

router = APIRouter(tags=["problems"])
MOST_LETTERS: Final = 128


@router.get("/v1/problems", response_model=ProblemPage, responses=faults(401, 422, 503))
async def list_problems(
    request: Request, _caller: Caller, query: Annotated[PageQuery, Query()]
) -> Response:
    """By id."""
    after = ProblemId(query.place) if query.place else None
    async with connection(desk_of(request).service.pool) as acquired:
        found = await problems.page(acquired, after=after, most=query.limit + 1)
    page, cursor = cut(found, query.limit, lambda line: line.id)
    return answer(
        ProblemPage(items=[problem_line_out(line) for line in page], next_cursor=cursor)
    )


@router.get("/v1/problems/{id}", response_model=ProblemOut, responses=faults(401, 404, 503))
async def show_problem(request: Request, _caller: Caller, id: str) -> Response:  # noqa: A002
    """Statements, samples, limits."""
    sheet = None
    if len(id) <= MOST_LETTERS and id.isprintable():
        async with connection(desk_of(request).service.pool) as acquired:
            sheet = await problems.in_force(acquired, ProblemId(id))
            submits, accepted = await tallies.of_problem(acquired, ProblemId(id))
    if sheet is None or sheet.retired:
        raise NotFound("There is no such problem: see GET /v1/problems.")
    return answer(problem_out(sheet, submits=submits, accepted=accepted))


class LanguageOut(Told):
    id: str
    name: str
    aliases: list[str]
    extensions: list[str]
    available: bool
    """Some worker that lives has its tools."""
    compile: list[str] | None
    """The compiler's command line; null: it is not compiled."""
    run: list[str]
    template: str


class LanguagesOut(Told):
    items: list[LanguageOut]


@router.get("/v1/languages", response_model=LanguagesOut, responses=faults(401, 503))
async def list_languages(request: Request, _caller: Caller) -> Response:
    """All that are known, and whether someone can judge them now."""
    desk = desk_of(request)
    installed = {name for worker in await desk.crew.working() for name in worker.languages}
    items = [language_out(each, installed) for each in desk.service.catalogue]
    return answer(LanguagesOut(items=items))


def language_out(language: Language, installed: set[str]) -> LanguageOut:
    return LanguageOut(
        id=language.id,
        name=language.name,
        aliases=list(language.aliases),
        extensions=list(language.extensions),
        available=language.id in installed,
        compile=list(language.compile.argv) if language.compile else None,
        run=list(language.run.argv),
        template=language.template,
    )
