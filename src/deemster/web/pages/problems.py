"""`/problems`: the list of problems, and each with its statement and a form to submit."""

import io
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from deemster.api.admission import RateTokens
from deemster.api.code_sessions import session_of_problem
from deemster.api.http.body import BODY_BYTES
from deemster.api.http.idempotent_replay import checked_key
from deemster.api.lookups import installed_versions
from deemster.api.models.problems import ProblemOut, ProblemPage, ProblemQuery
from deemster.api.models.submissions import SubmissionIn
from deemster.api.problems import cached_page, common_tags, draft_for, problem_for
from deemster.api.submissions import accept_submission, admit_submission
from deemster.domain.errors import DeemsterError, Refused
from deemster.domain.language import Language
from deemster.domain.problem_listing import Difficulty, ProblemSort
from deemster.web.forms import SHOWN, parse_fields
from deemster.web.page import YEAR_S, PageRequest, page_route
from deemster.web.titles import in_language
from deemster.web.upload import read_upload

PROBLEMS: Final = "/problems"
PROBLEM: Final = PROBLEMS + "/{id}"
FIRST: Final = "python3"
"""The language that a new visitor is offered."""
LANGUAGE_COOKIE: Final = "deemster_solves_in"
"""The script of the page writes it, too, so it is not hidden from scripts."""


async def show_problems(page: PageRequest) -> Response:
    """Scripts ask for the results only, while somebody types."""
    given = page.request.query_params
    fields: dict[str, object] = {name: given[name] for name in given}
    tags = tuple(each for each in given.getlist("tag") if each)
    fields |= {"tag": tags, "sort": given.get("sort") or ProblemSort.TITLE, "mine": True}
    query = parse_fields(ProblemQuery, **fields)
    entry = await cached_page(page.state, page.account, query)
    assert entry.body is not None, "a list may be empty, but there is one"
    is_part = bool(page.request.headers.get("HX-Request"))
    return page.render(
        "problem_list.html" if is_part else "problems.html",
        found=ProblemPage.model_validate_json(entry.body),
        query=query,
        difficulty_of=difficulty_of,
        common_tags=[] if is_part else await common_tags(page.state),
        with_tag=partial(list_address, page),
    )


def list_address(page: PageRequest, tags: Sequence[str], cursor: str | None = None) -> str:
    """The address of the list with these tags and the other filters of this page."""
    given = page.request.query_params.multi_items()
    fields = [(name, value) for name, value in given if name not in {"tag", "cursor"}]
    fields += [("tag", each) for each in tags] + [("cursor", cursor or "")]
    return f"{PROBLEMS}?{urlencode([each for each in fields if each[1]])}"


def difficulty_of(level: int) -> Difficulty:
    return next(each for each in Difficulty if level <= each.levels[1])


async def show_problem(page: PageRequest) -> Response:
    return await problem_page(page, page.request.path_params["id"])


async def submit_file(page: PageRequest) -> Response:
    """For browsers without scripts, which can't read a file into the form."""
    target = io.BytesIO()
    form = await read_upload(page, target, BODY_BYTES)
    try:
        source = target.getvalue().decode("utf-8-sig")
    except UnicodeDecodeError:
        refusal = Refused("The file is not text in UTF-8: save it as UTF-8 and send it again.")
        return await problem_page(page, page.parameter("id"), refusal)
    return await submit(replace(page, form={**form.fields, "source": source}))


async def submit(page: PageRequest) -> Response:
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


async def submit_form(page: PageRequest, problem: str, tokens: RateTokens) -> str:
    key = checked_key(page.form.get("key") or None)
    await admit_submission(page.request, page.account, key, tokens)
    # Browsers send forms with the line ends of Windows.
    source = page.form.get("source", "").replace("\r\n", "\n")
    language = page.form.get("language", "")
    asked = parse_fields(
        SubmissionIn, problem_id=problem, language=language, source_code=source
    )
    request = asked.to_submit_request(key)
    return (await accept_submission(page.state, page.account, request, tokens)).id


async def problem_page(
    page: PageRequest, problem_id: str, error: DeemsterError | None = None
) -> Response:
    problem = await visible_problem(page, problem_id)
    languages = await usable_languages(page, problem)
    session = await session_of_problem(page.state, page.account, problem.id)
    saved_language = session.language if session is not None else None
    remembered = saved_language or page.request.cookies.get(LANGUAGE_COOKIE, FIRST)
    chosen = page.form.get("language") or remembered
    return page.render(
        "problem.html",
        problem=problem,
        statement=in_language(problem.statements, page.language.code),
        title=in_language(problem.titles, page.language.code) or problem.title,
        languages=languages,
        chosen=chosen if chosen in {each.id for each in languages} else None,
        session=session,
        source=page.form.get("source") or (session.source if session is not None else ""),
        key=page.form.get("key") or page.nonce,
        difficulty_of=difficulty_of,
        error=error,
    )


async def visible_problem(page: PageRequest, problem_id: str) -> ProblemOut:
    """Authors also see their problems that are not published."""
    entry = await problem_for(page.state, page.account, problem_id)
    if entry is None:
        return await draft_for(page.state, page.account, problem_id)
    assert entry.body is not None, "an unknown problem was refused"
    return ProblemOut.model_validate_json(entry.body)


async def usable_languages(page: PageRequest, problem: ProblemOut) -> Sequence[Language]:
    """Those that the problem allows and that a live worker has; all if no worker lives."""
    catalogue = page.state.dependencies.catalogue
    installed = installed_versions(await page.state.live_workers.get())
    allowed = problem.languages
    return [
        each
        for each in catalogue
        if (allowed is None or each.id in allowed) and (not installed or each.id in installed)
    ]


async def go_home(_request: Request) -> Response:
    return RedirectResponse(PROBLEMS, 303)


ROUTES: Final = [
    page_route(PROBLEMS, show_problems),
    page_route(PROBLEM, show_problem),
    page_route(PROBLEM, submit, "POST"),
    page_route(PROBLEM + "/file", submit_file, "POST", is_upload=True),
]
