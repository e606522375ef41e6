"""`/v1/contests`: list, show, create and change contests."""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api.app_state import app_state
from deemster.api.authentication import Caller, actor_of
from deemster.api.http.body import json_response, read_json, request_body
from deemster.api.http.errors import errors
from deemster.api.http.idempotent_replay import IDEMPOTENCY_KEY, respond_once
from deemster.api.http.paging import PageQuery, cut
from deemster.api.lookups import known_contest
from deemster.api.models.contests import ContestIn, ContestOut, ContestPage, contest_out
from deemster.api.models.stages import stage_names
from deemster.domain.ids import CONTEST, ContestId, new_id
from deemster.store import audit, contests
from deemster.store.contests import ContestPlan
from deemster.store.pool import connection, transaction

router = APIRouter(tags=["contests"])
PATH: Final = "/v1/contests"


@router.get(PATH, response_model=ContestPage, responses=errors(422))
async def list_contests(
    request: Request, caller: Caller, query: Annotated[PageQuery, Query()]
) -> Response:
    """Lists contests, newest first."""
    before = ContestId(query.last_id) if query.last_id else None
    async with connection(app_state(request).pool) as acquired:
        found = await contests.page(acquired, before=before, limit=query.limit + 1)
    page, cursor = cut(found, query.limit, lambda contest: contest.id)
    items = [contest_out(contest, caller) for contest in page]
    return json_response(ContestPage(items=items, next_cursor=cursor))


@router.get(PATH + "/{id}", response_model=ContestOut, responses=errors(404))
async def show_contest(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Shows a contest. Users who are not admins see its problems once it has opened."""
    async with connection(app_state(request).pool) as acquired:
        return json_response(contest_out(await known_contest(acquired, id), caller))


@router.post(
    PATH,
    status_code=201,
    response_model=ContestOut,
    openapi_extra={**request_body(ContestIn), **IDEMPOTENCY_KEY},
    responses=errors(400, 408, 413, 415, 422),
)
async def create_contest(request: Request, caller: Caller) -> Response:
    """Creates a contest. Only admins can do this."""
    asked = await read_json(request, ContestIn)
    plan = asked.to_plan()
    async with transaction(app_state(request).pool) as writing:

        async def create() -> Response:
            contest = ContestId(new_id(CONTEST))
            await contests.add(writing, contest, plan, by=caller.id)
            actor = actor_of(request, caller)
            await audit.record(writing, actor, "contest.make", contest, **details(plan))
            created = contest_out(await known_contest(writing, contest), caller)
            return json_response(created, 201, {"Location": f"{PATH}/{contest}"})

        return await respond_once(request, caller, writing, asked, create)


@router.put(
    PATH + "/{id}",
    response_model=ContestOut,
    openapi_extra=request_body(ContestIn),
    responses=errors(400, 404, 408, 413, 415, 422),
)
async def change_contest(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Replaces all fields of a contest. Only admins can do this."""
    plan = (await read_json(request, ContestIn)).to_plan()
    async with transaction(app_state(request).pool) as writing:
        contest = (await known_contest(writing, id)).id
        await contests.update(writing, contest, plan)
        actor = actor_of(request, caller)
        await audit.record(writing, actor, "contest.change", contest, **details(plan))
        return json_response(contest_out(await known_contest(writing, contest), caller))


def details(plan: ContestPlan) -> dict[str, Any]:
    return {
        "title": plan.title,
        "opens_at": plan.opens_at.isoformat(),
        "closes_at": plan.closes_at.isoformat(),
        "problems": list(plan.problems),
        "stages": stage_names(plan.stages),
    }
