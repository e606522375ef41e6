"""`/problems`: the list of problems, and each with its statement and a form to submit."""

from collections.abc import Sequence
from typing import Final

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from deemster.api.admission import RateTokens
from deemster.api.code_sessions import session_of_problem
from deemster.api.http.errors import invalid_body, kind_of
from deemster.api.lookups import installed_versions
from deemster.api.models.problems import ProblemOut, ProblemPage, ProblemQuery
from deemster.api.models.submissions import SubmissionIn
from deemster.api.problems import cached_page, draft_for, problem_for
from deemster.api.submissions import accept_submission, admit_submission
from deemster.domain.errors import Conflict, DeemsterError, LimitReached, Refused, Unavailable
from deemster.domain.language import Language
from deemster.web.page import YEAR_S, Page, page_route

PROBLEMS: Final = "/problems"
PROBLEM: Final = PROBLEMS + "/{id}"
SHOWN: Final = (Refused, Conflict, LimitReached, Unavailable)
FIRST: Final = "python3"
"""The language that a new visitor is offered."""
LANGUAGE_COOKIE: Final = "deemster_solves_in"
"""The script of the page writes it, too, so it is not hidden from scripts."""


async def show_problems(page: Page) -> Response:
    cursor = page.request.query_params.get("cursor")
    query = ProblemQuery(cursor=cursor, mine=True)
    entry = await cached_page(page.state, page.account, query)
    assert entry.body is not None, "a list may be empty, but there is one"
    found = ProblemPage.model_validate_json(entry.body)
    return page.render("problems.html", found=found, is_first=cursor is None)


async def show_problem(page: Page) -> Response:
    return await problem_page(page, page.request.path_params["id"])


async def submit(page: Page) -> Response:
    """The key of the form makes a submission that is sent twice count once (W5)."""
    problem = page.request.path_params["id"]
    try:
        async with page.state.admission.rate_tokens() as tokens:
            accepted = await submit_form(page, problem, tokens)
    except SHOWN as refusal:
        return await problem_page(page, problem, refusal)
    response = page.redirect(f"/submissions/{accepted}")
    response.set_cookie(LANGUAGE_COOKIE, page.form["language"], max_age=YEAR_S, samesite="lax")
    return response


async def submit_form(page: Page, problem: str, tokens: RateTokens) -> str:
    key = page.form.get("key") or None
    await admit_submission(page.request, page.account, key, tokens)
    # Browsers send forms with the line ends of Windows.
    source = page.form.get("source", "").replace("\r\n", "\n")
    try:
        asked = SubmissionIn.model_validate(
            {
                "problem_id": problem,
                "language": page.form.get("language", ""),
                "source_code": source,
            }
        )
    except ValidationError as fault:
        raise invalid_body(fault) from None
    request = asked.to_submit_request(key)
    return (await accept_submission(page.state, page.account, request, tokens)).id


async def problem_page(
    page: Page, problem_id: str, error: DeemsterError | None = None
) -> Response:
    problem = await visible_problem(page, problem_id)
    languages = await usable_languages(page, problem)
    session = await session_of_problem(page.state, page.account, problem.id)
    saved_language = session.language if session is not None else None
    remembered = saved_language or page.request.cookies.get(LANGUAGE_COOKIE, FIRST)
    chosen = page.form.get("language") or remembered
    return page.render(
        "problem.html",
        kind_of(type(error)).status if error is not None else 200,
        problem=problem,
        statement=in_language(problem.statements, page.language.code),
        title=in_language(problem.titles, page.language.code) or problem.title,
        languages=languages,
        chosen=chosen if chosen in {each.id for each in languages} else None,
        session=session,
        source=page.form.get("source") or (session.source if session is not None else ""),
        key=page.form.get("key") or page.nonce,
        error=str(error) if error is not None else None,
    )


async def visible_problem(page: Page, problem_id: str) -> ProblemOut:
    """Authors also see their problems that are not published."""
    entry = await problem_for(page.state, page.account, problem_id)
    if entry is None:
        return await draft_for(page.state, page.account, problem_id)
    assert entry.body is not None, "an unknown problem was refused"
    return ProblemOut.model_validate_json(entry.body)


async def usable_languages(page: Page, problem: ProblemOut) -> Sequence[Language]:
    """Those that the problem allows and that a live worker has; all if no worker lives."""
    catalogue = page.state.dependencies.catalogue
    installed = installed_versions(await page.state.live_workers.get())
    allowed = problem.languages
    return [
        each
        for each in catalogue
        if (allowed is None or each.id in allowed) and (not installed or each.id in installed)
    ]


def in_language(texts: dict[str, str], code: str) -> str:
    """The text in this language; else in English, else in the first that there is."""
    return texts.get(code) or texts.get("en") or next(iter(texts.values()), "")


async def go_home(_request: Request) -> Response:
    return RedirectResponse(PROBLEMS, 303)


ROUTES: Final = [
    page_route(PROBLEMS, show_problems),
    page_route(PROBLEM, show_problem),
    page_route(PROBLEM, submit, "POST"),
]
