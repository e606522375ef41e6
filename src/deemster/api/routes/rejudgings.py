"""`/v1/admin/rejudgings`: rejudge a set on trial, compare the results, apply or drop them."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api.authentication import Caller, actor_of
from deemster.api.http.body import json_response, read_json, request_body
from deemster.api.http.errors import errors
from deemster.api.http.idempotent_replay import IDEMPOTENCY_KEY, respond_once
from deemster.api.http.paging import PageQuery, cut
from deemster.api.lookups import account_by_id_or_name
from deemster.api.models.rejudgings import (
    ChangePage,
    RejudgingIn,
    RejudgingOut,
    RejudgingPage,
    change_out,
    item_out,
    rejudging_out,
)
from deemster.api.state import AppState, app_state
from deemster.domain.errors import NotFound, Refused
from deemster.domain.ids import GENERATED_ID, ContestId, ProblemId, RejudgingId, SubmissionId
from deemster.pipeline.verdict import rejudging_set
from deemster.store import rejudgings
from deemster.store.pool import connection, transaction
from deemster.store.rejudgings import RejudgingFilter

router = APIRouter(tags=["rejudgings"])
PATH: Final = "/v1/admin/rejudgings"


@router.post(
    PATH,
    status_code=202,
    response_model=RejudgingOut,
    openapi_extra={**request_body(RejudgingIn), **IDEMPOTENCY_KEY},
    responses=errors(400, 408, 413, 415, 422),
)
async def create_rejudging(request: Request, caller: Caller) -> Response:
    """Judges submissions again on trial. Only admins see the results until they are applied.

    Submissions that are queued or running are not part of the set; `under_way` counts them.
    If the request is interrupted, the judge continues to create the trials; a repeat with the
    same Idempotency-Key returns the same set.
    """
    state = app_state(request)
    asked = await read_json(request, RejudgingIn)
    wanted = await to_filter(state, asked)
    async with transaction(state.pool) as writing:

        async def create() -> Response:
            actor = actor_of(request, caller)
            rejudging = await rejudging_set.begin(writing, wanted, actor, asked.reason)
            return Response(status_code=202, headers={"Location": f"{PATH}/{rejudging}"})

        first = await respond_once(request, caller, writing, asked, create)
    # The response shows the current state, because a repeat may continue an interrupted set.
    location = first.headers["location"]
    rejudging = RejudgingId(location.removeprefix(f"{PATH}/"))
    overview = await rejudging_set.stage_all(state.pool, rejudging)
    return json_response(rejudging_out(overview), 202, {"Location": location})


@router.get(PATH, response_model=RejudgingPage, responses=errors(422))
async def list_rejudgings(
    request: Request, _caller: Caller, query: Annotated[PageQuery, Query()]
) -> Response:
    """Lists rejudgings, newest first."""
    before = RejudgingId(query.last_id) if query.last_id else None
    async with connection(app_state(request).pool) as acquired:
        found = await rejudgings.page(acquired, before=before, limit=query.limit + 1)
    page, cursor = cut(found, query.limit, lambda each: each.id)
    return json_response(RejudgingPage(items=list(map(item_out, page)), next_cursor=cursor))


@router.get(PATH + "/{id}", response_model=RejudgingOut, responses=errors(404))
async def show_rejudging(request: Request, _caller: Caller, id: str) -> Response:  # noqa: A002
    """Shows the progress of a rejudging, and how many verdicts change from which to which."""
    pool = app_state(request).pool
    overview = await rejudging_set.overview(pool, checked(id))
    async with connection(pool) as acquired:
        matrix = await rejudgings.verdict_matrix(acquired, overview.rejudging.id)
    return json_response(rejudging_out(overview, matrix))


@router.get(PATH + "/{id}/changes", response_model=ChangePage, responses=errors(404, 422))
async def list_changes(
    request: Request,
    _caller: Caller,
    id: str,  # noqa: A002
    query: Annotated[PageQuery, Query()],
) -> Response:
    """Lists submissions whose verdict or score changes, and trials that can't be applied."""
    after = SubmissionId(query.last_id) if query.last_id else None
    async with connection(app_state(request).pool) as acquired:
        found = await rejudgings.get(acquired, checked(id))
        if found is None:
            raise unknown_rejudging()
        limit = query.limit + 1
        rows = await rejudgings.list_changes(acquired, found.id, after=after, limit=limit)
    page, cursor = cut(rows, query.limit, lambda change: change.old)
    return json_response(ChangePage(items=list(map(change_out, page)), next_cursor=cursor))


@router.post(PATH + "/{id}/apply", response_model=RejudgingOut, responses=errors(404, 409))
async def apply_rejudging(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Replaces all old submissions by their trials at once. All trials must have ended."""
    state = app_state(request)
    done = await rejudging_set.apply(state.pool, checked(id), actor_of(request, caller))
    state.cache_invalidation.forget_submissions()
    return json_response(rejudging_out(done))


@router.post(PATH + "/{id}/drop", response_model=RejudgingOut, responses=errors(404, 409))
async def drop_rejudging(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Discards a rejudging: no result changes, and trials that have not ended are cancelled."""
    state = app_state(request)
    done = await rejudging_set.drop(state.pool, checked(id), actor_of(request, caller))
    state.cache_invalidation.forget_submissions()
    return json_response(rejudging_out(done))


async def to_filter(state: AppState, asked: RejudgingIn) -> RejudgingFilter:
    account = None
    if asked.user is not None:
        async with connection(state.pool) as acquired:
            account = await account_by_id_or_name(acquired, asked.user)
        if account is None:
            raise Refused(f"There is no account {asked.user}.")
    catalogue = state.dependencies.catalogue
    return RejudgingFilter(
        problem=ProblemId(asked.problem) if asked.problem else None,
        contest=ContestId(asked.contest) if asked.contest else None,
        verdict=asked.verdict,
        language=catalogue.named(asked.language).id if asked.language else None,
        account=account,
        submitted_from=asked.submitted_from,
        submitted_to=asked.submitted_to,
        ids=sorted({SubmissionId(each) for each in asked.ids}) if asked.ids else None,
        outdated=True if asked.outdated else None,
    )


def checked(given: str) -> RejudgingId:
    if not GENERATED_ID.fullmatch(given):
        raise unknown_rejudging()
    return RejudgingId(given)


def unknown_rejudging() -> NotFound:
    return NotFound("There is no such rejudging: see GET /v1/admin/rejudgings.")
