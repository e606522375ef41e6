"""`/submissions`: one's own submissions, and each with its verdict and its source."""

from typing import Final

from starlette.responses import Response

from deemster.api.models.submissions import (
    Status,
    SubmissionOut,
    SubmissionPage,
    SubmissionQuery,
)
from deemster.api.submissions import (
    cached_submission,
    list_visible,
    read_details,
    read_source,
)
from deemster.domain.errors import NotFound
from deemster.web.formats import BY_SLUG
from deemster.web.page import Page, page_route
from deemster.web.source_marks import analysis_marks, by_line, compiler_marks

SUBMISSIONS: Final = "/submissions"
SUBMISSION: Final = SUBMISSIONS + "/{id}"
VERDICT: Final = "/verdicts/{slug}"
STATE: Final = "submission_state.html"
"""The part of the page that scripts replace while the submission is judged."""
GOING_ON: Final = frozenset(
    {Status.QUEUED, Status.RUNNING, Status.ANALYZING, Status.AI_EVALUATING}
)


async def show_submissions(page: Page) -> Response:
    query = SubmissionQuery(
        cursor=page.request.query_params.get("cursor"),
        problem=page.request.query_params.get("problem") or None,
        user=page.account.id,
    )
    body = await list_visible(page.state, page.account, query)
    found = SubmissionPage.model_validate_json(body)
    return page.render("submissions.html", found=found, problem=query.problem)


async def show_submission(page: Page) -> Response:
    submission = page.request.path_params["id"]
    entry = await cached_submission(page.state, page.account, submission)
    assert entry.body is not None, "an unknown submission was refused"
    found = SubmissionOut.model_validate_json(entry.body)
    source = await read_source(page.state, page.account, submission)
    details = await read_details(page.state, page.account, submission)
    marks = [
        *compiler_marks(found.compiler_output or "", source),
        *(analysis_marks(details.analysis) if details.analysis is not None else ()),
    ]
    return page.render(
        STATE if page.request.headers.get("HX-Request") else "submission.html",
        found=found,
        source=source,
        cases=details.cases,
        marks=by_line(marks),
        is_going_on=found.status in GOING_ON,
    )


async def explain_verdict(page: Page) -> Response:
    verdict = BY_SLUG.get(page.request.path_params["slug"])
    if verdict is None:
        raise NotFound("There is no such verdict: a submission links to its own.")
    return page.render("verdict.html", verdict=verdict)


ROUTES: Final = [
    page_route(SUBMISSIONS, show_submissions),
    page_route(SUBMISSION, show_submission),
    page_route(VERDICT, explain_verdict),
]
