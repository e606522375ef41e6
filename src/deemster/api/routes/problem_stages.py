"""`/v1/problems/{id}/stages`: the stages that follow a verdict, for authors."""

from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import Response

from deemster.api.app_state import app_state
from deemster.api.authentication import Caller, actor_of
from deemster.api.http.body import json_response, read_json, request_body
from deemster.api.http.errors import errors
from deemster.api.models.stages import (
    MeanScore,
    ProblemScores,
    StagesIn,
    StagesOut,
    stage_names,
    tasks_of,
)
from deemster.api.problem_import import own_problem
from deemster.domain.analysis import Category
from deemster.store import audit, problems
from deemster.store.pool import connection, transaction
from deemster.store.stages import score_sums

router = APIRouter(tags=["problems"])
PATH: Final = "/v1/problems/{id}/stages"


@router.get(PATH, response_model=StagesOut, responses=errors(404))
async def show_problem_stages(
    request: Request,
    caller: Caller,
    id: str,  # noqa: A002
) -> Response:
    """Shows the stages that follow a verdict, if the problem decides that."""
    problem, _ = await own_problem(request, caller, id)
    async with connection(app_state(request).pool) as acquired:
        found = await problems.get_stages(acquired, problem)
    return json_response(StagesOut(stages=stage_names(found)))


@router.get("/v1/problems/{id}/scores", response_model=ProblemScores, responses=errors(404))
async def show_problem_scores(
    request: Request,
    caller: Caller,
    id: str,  # noqa: A002
) -> Response:
    """Shows the mean scores of static analysis over all finished submissions to a problem."""
    problem, _ = await own_problem(request, caller, id)
    async with connection(app_state(request).pool) as acquired:
        sums = await score_sums(acquired, problem)
    scores = {
        Category(each.category): MeanScore(submissions=each.analyzed, mean=each.mean)
        for each in sums
    }
    return json_response(ProblemScores(scores=scores))


@router.put(
    PATH,
    response_model=StagesOut,
    openapi_extra=request_body(StagesIn),
    responses=errors(400, 404, 408, 413, 415, 422),
)
async def set_problem_stages(
    request: Request,
    caller: Caller,
    id: str,  # noqa: A002
) -> Response:
    """Decides which stages follow the verdict on later submissions. A contest can decide
    otherwise for its own submissions.
    """
    problem, _ = await own_problem(request, caller, id)
    asked = await read_json(request, StagesIn)
    actor = actor_of(request, caller)
    async with transaction(app_state(request).pool) as writing:
        await problems.set_stages(writing, problem, tasks_of(asked.stages))
        await audit.record(writing, actor, "problem.stages", problem, stages=asked.stages)
    return json_response(StagesOut(stages=stage_names(tasks_of(asked.stages))))
