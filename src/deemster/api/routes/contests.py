"""`/v1/contests`: when they are open, and what is solved there."""

from enum import StrEnum
from typing import Annotated, Any, Final, Self

from fastapi import APIRouter, Query, Request
from pydantic import Field, model_validator
from starlette.responses import Response

from deemster.api.authentication import Caller, actor_of
from deemster.api.http.body import body_of, read
from deemster.api.http.idempotency_key import IDEMPOTENCY_KEY
from deemster.api.http.idempotent_replay import answer_once
from deemster.api.http.json_response import answer, faults
from deemster.api.http.paging import PageQuery, cut
from deemster.api.http.times import When
from deemster.api.models.kinds import RequestModel, ResponseModel
from deemster.api.models.submission_requests import Plain, twice
from deemster.api.state import app_state
from deemster.domain.account import Account, Role
from deemster.domain.errors import NotFound
from deemster.domain.ids import CONTEST, GENERATED_ID, ContestId, ProblemId, new_id
from deemster.store import audit, contests
from deemster.store.contests import Contest, ContestPlan
from deemster.store.pool import connection, transaction

router = APIRouter(tags=["contests"])
PATH: Final = "/v1/contests"
MOST_PROBLEMS: Final = 100


class ContestIn(RequestModel):
    title: Plain
    opens_at: When
    closes_at: When
    problems: Annotated[list[Plain], Field(min_length=1, max_length=MOST_PROBLEMS)]
    """Their ids, in the order of the contest."""

    @model_validator(mode="after")
    def _is_in_order(self) -> Self:
        if self.closes_at <= self.opens_at:
            raise ValueError("closes_at must be after opens_at")
        for name in twice(self.problems):
            raise ValueError(f"the problem {name!r} is named twice")
        return self

    def to_plan(self) -> ContestPlan:
        problems = [ProblemId(each) for each in self.problems]
        return ContestPlan(self.title, self.opens_at, self.closes_at, problems)


class Phase(StrEnum):
    UPCOMING = "upcoming"
    OPEN = "open"
    CLOSED = "closed"


class ContestOut(ResponseModel):
    id: str
    title: str
    status: Phase
    opens_at: When
    closes_at: When
    """The first moment that is too late."""
    problems: list[str] | None = None
    """Only once it has opened; admins see them before."""


class ContestPage(ResponseModel):
    items: list[ContestOut]
    next_cursor: str | None
    """Where to go on; null: there are no more."""


@router.get(PATH, response_model=ContestPage, responses=faults(401, 403, 422, 429, 503))
async def list_contests(
    request: Request, caller: Caller, query: Annotated[PageQuery, Query()]
) -> Response:
    """Newest first."""
    before = ContestId(query.place) if query.place else None
    async with connection(app_state(request).pool) as acquired:
        found = await contests.page(acquired, before=before, limit=query.limit + 1)
    page, cursor = cut(found, query.limit, lambda contest: contest.id)
    items = [contest_out(contest, caller) for contest in page]
    return answer(ContestPage(items=items, next_cursor=cursor))


@router.get(
    PATH + "/{id}", response_model=ContestOut, responses=faults(401, 403, 404, 429, 503)
)
async def show_contest(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Its times; its problems once it has opened."""
    async with connection(app_state(request).pool) as acquired:
        found = await contests.get(acquired, checked(id))
    if found is None:
        raise unknown()
    return answer(contest_out(found, caller))


@router.post(
    PATH,
    status_code=201,
    response_model=ContestOut,
    openapi_extra={**body_of(ContestIn), "parameters": [IDEMPOTENCY_KEY]},
    responses=faults(400, 401, 403, 408, 413, 415, 422, 429, 503),
)
async def make_contest(request: Request, caller: Caller) -> Response:
    """For admins."""
    asked = await read(request, ContestIn)
    plan = asked.to_plan()
    async with transaction(app_state(request).pool) as writing:

        async def make() -> Response:
            contest = ContestId(new_id(CONTEST))
            await contests.add(writing, contest, plan, by=caller.id)
            actor = actor_of(request, caller)
            await audit.record(writing, actor, "contest.make", contest, **details(plan))
            found = await contests.get(writing, contest)
            assert found is not None
            headers = {"Location": f"{PATH}/{contest}"}
            return answer(contest_out(found, caller), 201, headers)

        return await answer_once(request, caller, writing, asked, make)


@router.put(
    PATH + "/{id}",
    response_model=ContestOut,
    openapi_extra=body_of(ContestIn),
    responses=faults(400, 401, 403, 404, 408, 413, 415, 422, 429, 503),
)
async def change_contest(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """All of it is said anew. For admins."""
    contest = checked(id)
    plan = (await read(request, ContestIn)).to_plan()
    async with transaction(app_state(request).pool) as writing:
        if not await contests.update(writing, contest, plan):
            raise unknown()
        await audit.record(
            writing, actor_of(request, caller), "contest.change", contest, **details(plan)
        )
        found = await contests.get(writing, contest)
    assert found is not None
    return answer(contest_out(found, caller))


def contest_out(contest: Contest, caller: Account) -> ContestOut:
    plan = contest.plan
    phase = Phase.OPEN if contest.has_opened() else Phase.UPCOMING
    shown: dict[str, Any] = {
        "id": contest.id,
        "title": plan.title,
        "status": Phase.CLOSED if contest.has_closed() else phase,
        "opens_at": plan.opens_at,
        "closes_at": plan.closes_at,
    }
    if contest.has_opened() or caller.role is Role.ADMIN:
        shown["problems"] = plan.problems
    return ContestOut.model_validate(shown)


def details(plan: ContestPlan) -> dict[str, Any]:
    return {
        "title": plan.title,
        "opens_at": plan.opens_at.isoformat(),
        "closes_at": plan.closes_at.isoformat(),
        "problems": list(plan.problems),
    }


def checked(contest: str) -> ContestId:
    if not GENERATED_ID.fullmatch(contest):
        raise unknown()
    return ContestId(contest)


def unknown() -> NotFound:
    return NotFound("There is no such contest: see GET /v1/contests.")
