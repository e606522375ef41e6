"""`/submissions`: one's own submissions, and each with its verdict and its source."""

from collections.abc import Sequence
from typing import Final

from starlette.responses import Response

from deemster.api.evaluations import read_evaluation
from deemster.api.models.submissions import (
    Status,
    SubmissionOut,
    SubmissionPage,
    SubmissionQuery,
)
from deemster.api.problems import next_unsolved
from deemster.api.submissions import (
    cached_submission,
    list_visible,
    previous_submission,
    read_details,
    read_source,
)
from deemster.domain.errors import NotFound
from deemster.domain.judgement import ContestantCase
from deemster.domain.verdict import Verdict
from deemster.web.formats import BY_SLUG, LOOKS
from deemster.web.forms import parse_fields
from deemster.web.page import PageRequest, page_route
from deemster.web.source_marks import analysis_marks, by_line, compiler_marks
from deemster.web.titles import titles_of

SUBMISSIONS: Final = "/submissions"
SUBMISSION: Final = SUBMISSIONS + "/{id}"
VERDICTS: Final = "/verdicts"
VERDICT: Final = VERDICTS + "/{slug}"
STATE: Final = "submission_state.html"
"""The part of the page that scripts replace while the submission is judged."""
GOING_ON: Final = frozenset(
    {Status.QUEUED, Status.RUNNING, Status.ANALYZING, Status.AI_EVALUATING}
)


async def show_submissions(page: PageRequest) -> Response:
    query = parse_fields(
        SubmissionQuery,
        cursor=page.request.query_params.get("cursor"),
        problem=page.request.query_params.get("problem"),
        user=page.account.id,
    )
    body = await list_visible(page.state, page.account, query)
    found = SubmissionPage.model_validate_json(body)
    problems = {each.problem_id for each in found.items}
    problems |= {query.problem} if query.problem else set()
    return page.render(
        "submissions.html",
        found=found,
        problem=query.problem,
        titles=await titles_of(page, problems),
    )


async def show_submission(page: PageRequest) -> Response:
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
    is_solved = (
        found.verdict is Verdict.ACCEPTED
        and found.contest_id is None
        and found.user_id == page.account.id
    )
    return page.render(
        STATE if page.request.headers.get("HX-Request") else "submission.html",
        found=found,
        title=(await titles_of(page, [found.problem_id]))[found.problem_id],
        next_problem=await next_unsolved(page.state, page.account, found.problem_id)
        if is_solved
        else None,
        source=source,
        cases=shown_cases(found, details.cases),
        case_looks={
            each.value: [look.kind, look.sign, page.gettext(each.value)]
            for each, look in LOOKS.items()
        },
        marks=by_line(marks),
        previous=None
        if found.status in GOING_ON
        else await previous_submission(page.state, page.account, submission),
        evaluation=await read_evaluation(page.state, page.account, submission),
        is_going_on=found.status in GOING_ON,
    )


def shown_cases(
    found: SubmissionOut, judged: Sequence[ContestantCase]
) -> Sequence[ContestantCase]:
    """While the submission is judged, all cases, with the verdicts that are known (J10).

    `judged` was read later than `found`, so it may have cases of a verdict that `found` lacks.
    """
    if found.progress is None:
        has_verdict = found.verdict is not None
        return judged if has_verdict and any(case.verdict for case in judged) else ()
    known = {case.number: case for case in found.progress.cases or ()}
    return [
        ContestantCase(number, case.verdict, False, case.runtime_ms, case.memory_kb)
        if (case := known.get(number))
        else ContestantCase(number, None, False, 0, 0)
        for number in range(1, found.progress.of + 1)
    ]


async def explain_verdict(page: PageRequest) -> Response:
    verdict = BY_SLUG.get(page.request.path_params["slug"])
    if verdict is None:
        raise NotFound("There is no page for this verdict: follow the link on a submission.")
    return page.render("verdict.html", verdict=verdict)


async def explain_verdicts(page: PageRequest) -> Response:
    return page.render("verdicts.html")


ROUTES: Final = [
    page_route(SUBMISSIONS, show_submissions),
    page_route(SUBMISSION, show_submission),
    page_route(VERDICTS, explain_verdicts),
    page_route(VERDICT, explain_verdict),
]
