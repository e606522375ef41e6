"""`/v1/admin/rubrics` and `/v1/admin/evaluation`: rubrics, model tiers, budgets and spend."""

from dataclasses import asdict
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api.app_state import app_state
from deemster.api.authentication import Caller, actor_of
from deemster.api.http.body import json_response, read_json, request_body
from deemster.api.http.errors import FieldFault, Invalid, errors
from deemster.api.http.idempotent_replay import IDEMPOTENCY_KEY, respond_once
from deemster.api.http.paging import cut
from deemster.api.lookups import problem_filter
from deemster.api.models.evaluation_admin import (
    BudgetsIn,
    BudgetsOut,
    RubricIn,
    RubricOut,
    RubricPage,
    RubricQuery,
    SpendList,
    SpendQuery,
    TiersIn,
    TiersOut,
    budgets_out,
    rubric_out,
    spend_out,
    tiers_out,
)
from deemster.domain.errors import NotFound, Refused
from deemster.domain.ids import GENERATED_ID, ProblemId
from deemster.domain.model_tier import ModelTier
from deemster.domain.rubric import RubricId
from deemster.pipeline.evaluate.rubric_file import digest_of, parse_rubric
from deemster.public_addresses import BadDestination, is_plainly_private, target_of
from deemster.store import audit, model_calls, model_tiers, problems, rubrics
from deemster.store.pool import connection, transaction
from deemster.store.rubrics import NewRubric

router = APIRouter(tags=["evaluations"])
RUBRICS: Final = "/v1/admin/rubrics"
TIERS: Final = "/v1/admin/evaluation/tiers"
BUDGETS: Final = "/v1/admin/evaluation/budgets"
BODY_ERRORS: Final = errors(400, 408, 413, 415, 422)


@router.get(RUBRICS, response_model=RubricPage, responses=errors(404, 422))
async def list_rubrics(
    request: Request, caller: Caller, query: Annotated[RubricQuery, Query()]
) -> Response:
    """Lists versions of rubrics, newest first. The shipped general rubric is listed once a
    submission was evaluated by it.
    """
    async with connection(app_state(request).pool) as reading:
        found = await rubrics.page(
            reading,
            before=RubricId(query.last_id) if query.last_id else None,
            problem=await problem_filter(reading, caller, query.problem_id),
            limit=query.limit + 1,
        )
    page, cursor = cut(found, query.limit, lambda each: each.id)
    return json_response(RubricPage(items=list(map(rubric_out, page)), next_cursor=cursor))


@router.post(
    RUBRICS,
    status_code=201,
    response_model=RubricOut,
    openapi_extra={**request_body(RubricIn), **IDEMPOTENCY_KEY},
    responses=BODY_ERRORS,
)
async def add_rubric(request: Request, caller: Caller) -> Response:
    """Stores a new version of the general rubric, or of a problem's own rubric, which takes
    precedence. The version that is in force already is returned if nothing differs from it.
    """
    asked = await read_json(request, RubricIn)
    rubric = parse_rubric(asked.yaml)
    problem = ProblemId(asked.problem_id) if asked.problem_id else None
    async with transaction(app_state(request).pool) as writing:
        if problem is not None and not await problems.exists(writing, problem):
            raise Refused(f"There is no problem {problem}: see GET /v1/problems.")

        async def create() -> Response:
            new = NewRubric(
                problem, digest_of(asked.yaml), rubric.title, asked.yaml, caller.name
            )
            stored, is_new = await rubrics.add(writing, new)
            if is_new:
                await audit.record(
                    writing,
                    actor_of(request, caller),
                    "rubric.add",
                    stored.id,
                    problem=problem,
                    version=stored.number,
                    digest=stored.digest,
                )
            location = {"Location": f"{RUBRICS}/{stored.id}"}
            return json_response(rubric_out(stored), 201, location)

        return await respond_once(request, caller, writing, asked, create)


@router.get(RUBRICS + "/{id}", response_model=RubricOut, responses=errors(404))
async def show_rubric(request: Request, _caller: Caller, id: str) -> Response:  # noqa: A002
    """Shows a version of a rubric."""
    async with connection(app_state(request).pool) as reading:
        stored = await rubrics.get(reading, checked(id))
    if stored is None:
        raise unknown_rubric()
    return json_response(rubric_out(stored))


@router.delete(RUBRICS + "/{id}", response_model=RubricOut, responses=errors(404))
async def retire_rubric(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Takes a version out of force. Evaluations that used it keep it."""
    rubric = checked(id)
    async with transaction(app_state(request).pool) as writing:
        if await rubrics.retire(writing, rubric):
            await audit.record(writing, actor_of(request, caller), "rubric.retire", rubric)
        stored = await rubrics.get(writing, rubric)
    if stored is None:
        raise unknown_rubric()
    return json_response(rubric_out(stored))


@router.get(TIERS, response_model=TiersOut)
async def list_tiers(request: Request, _caller: Caller) -> Response:
    """Lists the tiers of models, the cheapest first. API keys are not shown."""
    async with connection(app_state(request).pool) as reading:
        return json_response(tiers_out(await model_tiers.list_tiers(reading)))


@router.put(
    TIERS,
    response_model=TiersOut,
    openapi_extra=request_body(TiersIn),
    responses=BODY_ERRORS,
)
async def replace_tiers(request: Request, caller: Caller) -> Response:
    """Replaces all tiers. Without tiers, submissions are evaluated from facts alone."""
    state = app_state(request)
    asked = await read_json(request, TiersIn)
    tiers = [tier.to_domain() for tier in asked.tiers]
    allow_private = state.settings.evaluation_allow_private
    for number, tier in enumerate(tiers):
        check_url(f"tiers.{number}.base_url", tier.base_url, allow_private=allow_private)
    async with transaction(state.pool) as writing:
        await model_tiers.replace_tiers(writing, tiers)
        names = [named(tier) for tier in tiers]
        actor = actor_of(request, caller)
        await audit.record(writing, actor, "evaluation.tiers", tiers=names)
        return json_response(tiers_out(await model_tiers.list_tiers(writing)))


@router.get(BUDGETS, response_model=BudgetsOut)
async def show_budgets(request: Request, _caller: Caller) -> Response:
    """Shows the most that calls of models may cost."""
    async with connection(app_state(request).pool) as reading:
        return json_response(budgets_out(await model_tiers.get_budgets(reading)))


@router.put(
    BUDGETS,
    response_model=BudgetsOut,
    openapi_extra=request_body(BudgetsIn),
    responses=BODY_ERRORS,
)
async def replace_budgets(request: Request, caller: Caller) -> Response:
    """Replaces the budgets. What was spent before counts towards the new ones."""
    budgets = (await read_json(request, BudgetsIn)).to_domain()
    async with transaction(app_state(request).pool) as writing:
        await model_tiers.set_budgets(writing, budgets)
        actor = actor_of(request, caller)
        await audit.record(writing, actor, "evaluation.budgets", micros=asdict(budgets))
        return json_response(budgets_out(await model_tiers.get_budgets(writing)))


@router.get("/v1/admin/evaluation/spend", response_model=SpendList, responses=errors(422))
async def list_spend(
    request: Request, _caller: Caller, query: Annotated[SpendQuery, Query()]
) -> Response:
    """Lists what calls of models cost, by day (UTC) and tier."""
    async with connection(app_state(request).pool) as reading:
        found = await model_calls.spend_by_day(reading, days=query.days)
    return json_response(SpendList(items=[spend_out(each) for each in found]))


def check_url(field: str, url: str, *, allow_private: bool) -> None:
    """Refuses plainly private addresses early; each call checks all addresses (H3)."""
    try:
        target_of(url)
    except BadDestination:
        raise Invalid([FieldFault(field, "write an http or https URL")]) from None
    if not allow_private and is_plainly_private(url):
        advice = "this is a private address: allow it with the setting evaluation_allow_private"
        raise Invalid([FieldFault(field, advice)])


def named(tier: ModelTier) -> dict[str, Any]:
    return {"name": tier.name, "model": tier.model, "base_url": tier.base_url}


def checked(given: str) -> RubricId:
    if not GENERATED_ID.fullmatch(given):
        raise unknown_rubric()
    return RubricId(given)


def unknown_rubric() -> NotFound:
    return NotFound("There is no such rubric: see GET /v1/admin/rubrics.")
