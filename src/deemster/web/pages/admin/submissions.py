"""`/admin/submissions`: search all submissions, and see what the jury sees (W3, O8)."""

from typing import Final

from starlette.responses import Response

from deemster.api.judgements import read_judgement
from deemster.api.models.submissions import Status, SubmissionPage, SubmissionQuery
from deemster.api.rejudgings import rejudge_one
from deemster.api.submissions import list_visible, read_source
from deemster.domain.account import Role
from deemster.domain.errors import DeemsterError, NotFound
from deemster.domain.verdict import Verdict
from deemster.web.forms import SHOWN, status_of
from deemster.web.page import Page, page_route

SUBMISSIONS: Final = "/admin/submissions"
SUBMISSION: Final = SUBMISSIONS + "/{id}"


async def search(page: Page) -> Response:
    error: DeemsterError | None = None
    found = SubmissionPage(items=[], next_cursor=None)
    try:
        query = page.query(SubmissionQuery)
        body = await list_visible(page.state, page.account, query)
        found = SubmissionPage.model_validate_json(body)
    except (*SHOWN, NotFound) as refusal:
        error = refusal
    return page.render(
        "admin/submissions.html",
        status_of(error),
        found=found,
        given=page.request.query_params,
        verdicts=list(Verdict),
        statuses=list(Status),
        languages=[each.id for each in page.state.dependencies.catalogue],
        error=str(error) if error is not None else None,
    )


async def show_judgement(page: Page) -> Response:
    """An author sees the cases of a submission to an own problem, but not its source."""
    submission = page.parameter("id")
    found = await read_judgement(page.state, page.account, submission)
    source = None
    if page.account.role is Role.ADMIN:
        source = await read_source(page.state, page.account, submission)
    return page.render("admin/submission.html", found=found, source=source)


async def rejudge(page: Page) -> Response:
    new = await rejudge_one(page.request, page.account, page.parameter("id"))
    return page.redirect(f"{SUBMISSIONS}/{new}?done=rejudged")


ROUTES: Final = [
    page_route(SUBMISSIONS, search),
    page_route(SUBMISSION, show_judgement),
    page_route(SUBMISSION + "/rejudge", rejudge, "POST"),
]
