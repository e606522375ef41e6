"""`/v1/admin/rejudgings`: judge a set again on trial, see what changes, apply or drop it."""

from typing import Annotated, Final, Self

from fastapi import APIRouter, Query, Request
from pydantic import Field, StringConstraints, model_validator
from starlette.responses import Response

from deemster.api.authentication import Caller, actor_of
from deemster.api.http.body import body_of, read
from deemster.api.http.idempotency_key import IDEMPOTENCY_KEY, idempotency_key
from deemster.api.http.json_response import answer, faults
from deemster.api.http.paging import PageQuery, cut
from deemster.api.http.times import When
from deemster.api.models.kinds import RequestModel
from deemster.api.models.rejudgings import (
    ChangePage,
    RejudgingOut,
    RejudgingPage,
    change_out,
    line_out,
    rejudging_out,
)
from deemster.api.models.submission_requests import Plain
from deemster.api.state import app_state
from deemster.domain.errors import NotFound, Refused
from deemster.domain.ids import (
    GENERATED_ID,
    AccountId,
    ContestId,
    ProblemId,
    RejudgingId,
    SubmissionId,
)
from deemster.domain.verdict import Verdict
from deemster.pipeline.verdict import rejudging_set
from deemster.store import accounts, rejudgings
from deemster.store.pool import Connection, connection
from deemster.store.rejudgings import RejudgingFilter

router = APIRouter(tags=["rejudgings"])
PATH: Final = "/v1/admin/rejudgings"
MOST_NAMED: Final = 10_000
Reason = Annotated[
    str, StringConstraints(min_length=1, max_length=1000, pattern=r"^[^\x00-\x1f\x7f]*$")
]


class RejudgingIn(RequestModel):
    """Submissions that are all of this; at least one thing must be said of them."""

    problem: Plain | None = None
    contest: Plain | None = None
    verdict: Verdict | None = None
    language: Plain | None = None
    user: Plain | None = None
    """Its id or its name."""
    submitted_from: When | None = None
    submitted_to: When | None = None
    """The first moment that is too late."""
    ids: Annotated[list[Plain], Field(min_length=1, max_length=MOST_NAMED)] | None = None
    outdated: bool = False
    """Only those that were judged by other test data than is in force now."""
    reason: Reason | None = None
    """For those who look at it later."""

    @model_validator(mode="after")
    def _says_which(self) -> Self:
        if all(not value for name, value in self if name != "reason"):
            raise ValueError("say which submissions: by problem, contest, verdict, ids …")
        return self


@router.post(
    PATH,
    status_code=202,
    response_model=RejudgingOut,
    openapi_extra={**body_of(RejudgingIn), "parameters": [IDEMPOTENCY_KEY]},
    responses=faults(400, 401, 403, 408, 413, 415, 422, 429, 503),
)
async def make_rejudging(request: Request, caller: Caller) -> Response:
    """Judges them again on trial: nobody sees it, and nothing counts, until it is applied.

    What waits or runs is not in it, and is judged by the test data that it came with:
    `under_way` counts it. A request that was cut off goes on by itself, and answers when it is
    sent again with the same key.
    """
    key = idempotency_key(request)
    asked = await read(request, RejudgingIn)
    dependencies = app_state(request).dependencies
    language = dependencies.catalogue.named(asked.language).id if asked.language else None
    async with connection(dependencies.pool) as acquired:
        wanted = RejudgingFilter(
            problem=ProblemId(asked.problem) if asked.problem else None,
            contest=ContestId(asked.contest) if asked.contest else None,
            verdict=asked.verdict,
            language=language,
            account=await account_of(acquired, asked.user) if asked.user else None,
            submitted_from=asked.submitted_from,
            submitted_to=asked.submitted_to,
            ids=sorted({SubmissionId(each) for each in asked.ids}) if asked.ids else None,
            outdated=True if asked.outdated else None,
        )
    made = await rejudging_set.make(
        dependencies.pool, wanted, actor_of(request, caller), reason=asked.reason, key=key
    )
    return answer(rejudging_out(made), 202, {"Location": f"{PATH}/{made.rejudging.id}"})


@router.get(PATH, response_model=RejudgingPage, responses=faults(401, 403, 422, 429, 503))
async def list_rejudgings(
    request: Request, _caller: Caller, query: Annotated[PageQuery, Query()]
) -> Response:
    """Newest first."""
    before = RejudgingId(query.place) if query.place else None
    async with connection(app_state(request).pool) as acquired:
        found = await rejudgings.page(acquired, before=before, limit=query.limit + 1)
    page, cursor = cut(found, query.limit, lambda each: each.id)
    return answer(RejudgingPage(items=list(map(line_out, page)), next_cursor=cursor))


@router.get(
    PATH + "/{id}", response_model=RejudgingOut, responses=faults(401, 403, 404, 429, 503)
)
async def show_rejudging(request: Request, _caller: Caller, id: str) -> Response:  # noqa: A002
    """How far it is, and which verdicts become which."""
    pool = app_state(request).pool
    found = await rejudging_set.overview(pool, checked(id))
    async with connection(pool) as acquired:
        matrix = await rejudgings.verdict_matrix(acquired, found.rejudging.id)
    return answer(rejudging_out(found, matrix))


@router.get(
    PATH + "/{id}/changes",
    response_model=ChangePage,
    responses=faults(401, 403, 404, 422, 429, 503),
)
async def list_changes(
    request: Request,
    _caller: Caller,
    id: str,  # noqa: A002
    query: Annotated[PageQuery, Query()],
) -> Response:
    """Pairs that differ in verdict or score, and trials that stay out."""
    after = SubmissionId(query.place) if query.place else None
    async with connection(app_state(request).pool) as acquired:
        found = await rejudgings.get(acquired, checked(id))
        if found is None:
            raise unknown()
        rows = await rejudgings.list_changes(
            acquired, found.id, after=after, limit=query.limit + 1
        )
    page, cursor = cut(rows, query.limit, lambda change: change.old)
    return answer(ChangePage(items=list(map(change_out, page)), next_cursor=cursor))


@router.post(
    PATH + "/{id}/apply",
    response_model=RejudgingOut,
    responses=faults(401, 403, 404, 409, 429, 503),
)
async def apply_rejudging(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """The trials take the places of the old ones, all at once; when all have ended."""
    state = app_state(request)
    done = await rejudging_set.apply(state.pool, checked(id), actor_of(request, caller))
    state.cache_invalidation.forget_submissions()
    return answer(rejudging_out(done))


@router.post(
    PATH + "/{id}/drop",
    response_model=RejudgingOut,
    responses=faults(401, 403, 404, 409, 429, 503),
)
async def drop_rejudging(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """All stays as it was; trials that have not ended are cancelled."""
    state = app_state(request)
    done = await rejudging_set.drop(state.pool, checked(id), actor_of(request, caller))
    state.cache_invalidation.forget_submissions()
    return answer(rejudging_out(done))


async def account_of(acquired: Connection, user: str) -> AccountId:
    if GENERATED_ID.fullmatch(user):
        return AccountId(user)
    found = await accounts.find_by_name(acquired, user)
    if found is None:
        raise Refused(f"There is no account {user}.")
    return found.id


def checked(given: str) -> RejudgingId:
    if not GENERATED_ID.fullmatch(given):
        raise unknown()
    return RejudgingId(given)


def unknown() -> NotFound:
    return NotFound("There is no such rejudging: see GET /v1/admin/rejudgings.")
