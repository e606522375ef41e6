"""`/admin/submissions`: search all submissions, and see what the jury sees (W3, O8)."""

from typing import TYPE_CHECKING, Final

from starlette.responses import Response

from deemster.api.judgements import read_judgement
from deemster.api.models.submissions import Status, SubmissionPage, SubmissionQuery
from deemster.api.rejudgings import rejudge_one
from deemster.api.submissions import list_visible, read_source
from deemster.domain.account import Role
from deemster.domain.verdict import Verdict
from deemster.web.forms import SHOWN
from deemster.web.page import PageRequest, page_route
from deemster.web.titles import titles_of

if TYPE_CHECKING:
    from deemster.domain.errors import DeemsterError

SUBMISSIONS: Final = "/admin/submissions"
SUBMISSION: Final = SUBMISSIONS + "/{id}"


async def search(page: PageRequest) -> Response:
    error: DeemsterError | None = None
    found = SubmissionPage(items=[], next_cursor=None)
    try:
        query = page.query(SubmissionQuery)
        body = await list_visible(page.state, page.account, query)
        found = SubmissionPage.model_validate_json(body)
    except SHOWN as refusal:
        error = refusal
    return page.render(
        "admin/submissions.html",
        found=found,
        titles=await titles_of(page, [each.problem_id for each in found.items]),
        given=page.request.query_params,
        verdicts=list(Verdict),
        statuses=list(Status),
        languages=[each.id for each in page.state.dependencies.catalogue],
        error=error,
    )


async def show_judgement(page: PageRequest) -> Response:
    """An author sees the cases of a submission to an own problem, but not its source."""
    submission = page.parameter("id")
    found = await read_judgement(page.state, page.account, submission)
    source = None
    if page.account.role is Role.ADMIN:
        source = await read_source(page.state, page.account, submission)
    title = (await titles_of(page, [found.problem_id]))[found.problem_id]
    return page.render("admin/submission.html", found=found, title=title, source=source)


async def rejudge(page: PageRequest) -> Response:
    new = await rejudge_one(page.request, page.account, page.parameter("id"))
    return page.redirect(f"{SUBMISSIONS}/{new}?done=rejudged")


ROUTES: Final = [
    page_route(SUBMISSIONS, search),
    page_route(SUBMISSION, show_judgement),
    page_route(SUBMISSION + "/rejudge", rejudge, "POST"),
]
