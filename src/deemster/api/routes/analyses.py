"""`/analysis`: shows the static analysis of submissions and executions, and requests one."""

from typing import Any, Final

from fastapi import APIRouter, Request
from starlette.responses import Response

from deemster.api.app_state import app_state
from deemster.api.authentication import Caller
from deemster.api.executions import visible_execution
from deemster.api.http.body import json_response
from deemster.api.http.errors import AnalysisPending, NotAnalyzed, errors
from deemster.api.http.idempotent_replay import IDEMPOTENCY_KEY, respond_once
from deemster.api.lookups import visible_submission
from deemster.api.models.executions import EXECUTIONS_PATH
from deemster.api.models.stages import RequestedOut
from deemster.api.models.submissions import SUBMISSIONS_PATH
from deemster.domain.ids import SubmissionId
from deemster.domain.job import Task
from deemster.domain.lifecycle import SETTLED, TERMINAL, State
from deemster.domain.stored_analysis import AnalyzedId
from deemster.domain.submission import SubmissionView
from deemster.store import analyses, stages
from deemster.store.pool import Connection, connection, transaction

router = APIRouter(tags=["analyses"])
SARIF: Final = "application/sarif+json"
FOUND: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "A SARIF 2.1.0 log, with the scores in its properties",
        "content": {SARIF: {"schema": {"type": "object"}}},
    },
    **errors(404, 409),
}
FAILED: Final = (
    "The analysis failed. The verdict is not affected. The operators of this judge have been "
    "notified and can have the program analysed again."
)


@router.get(SUBMISSIONS_PATH + "/{id}/analysis", response_class=Response, responses=FOUND)
async def show_submission_analysis(
    request: Request,
    caller: Caller,
    id: str,  # noqa: A002
) -> Response:
    """Shows what static analysis found in a submission, as a SARIF log with scores in its
    properties. While there will be one later, the error is 409.
    """
    async with connection(app_state(request).pool) as acquired:
        view = await visible_submission(acquired, caller, id)
        # Read before the analysis: one that ends in between is found.
        missing = await why_stage_has_none(acquired, view) or await why_none(acquired, view.id)
        found = await analyses.get(acquired, view.id)
    if found is None:
        raise missing or NotAnalyzed(
            "This submission was not analysed: analysis was off for its problem or contest "
            "when it was judged."
        )
    return Response(found.log(), media_type=SARIF)


@router.get(EXECUTIONS_PATH + "/{id}/analysis", response_class=Response, responses=FOUND)
async def show_execution_analysis(
    request: Request,
    caller: Caller,
    id: str,  # noqa: A002
) -> Response:
    """Shows what static analysis found in an execution's program, after a POST."""
    async with connection(app_state(request).pool) as acquired:
        view = await visible_execution(acquired, caller, id)
        missing = await why_none(acquired, view.id)
        found = await analyses.get(acquired, view.id)
    if found is None:
        raise missing or NotAnalyzed(
            f"This execution was not analysed: request it by POST {EXECUTIONS_PATH}/"
            f"{view.id}/analysis."
        )
    return Response(found.log(), media_type=SARIF)


@router.post(
    EXECUTIONS_PATH + "/{id}/analysis",
    status_code=202,
    response_model=RequestedOut,
    openapi_extra=IDEMPOTENCY_KEY,
    responses=errors(404, 422),
)
async def request_execution_analysis(
    request: Request,
    caller: Caller,
    id: str,  # noqa: A002
) -> Response:
    """Has the program of an execution analysed, once. Its GET shows the result later."""
    state = app_state(request)
    async with connection(state.pool) as acquired:
        view = await visible_execution(acquired, caller, id)
    async with state.admission.rate_tokens() as tokens:
        await state.admission.admit_execution(request, caller, tokens)
    headers = {"Location": f"{EXECUTIONS_PATH}/{view.id}/analysis"}
    async with transaction(state.pool) as writing:

        async def create() -> Response:
            is_done = await analyses.get(writing, view.id) is not None
            if not is_done:
                await analyses.request(writing, view.id)
            requested = RequestedOut(status="finished" if is_done else "queued")
            return json_response(requested, 202, headers)

        return await respond_once(request, caller, writing, None, create)


async def why_stage_has_none(
    acquired: Connection, view: SubmissionView
) -> AnalysisPending | NotAnalyzed | None:
    if view.state not in SETTLED:
        return AnalysisPending("The submission is judged first: try again later.")
    if view.verdict is None:
        return NotAnalyzed("This submission was not judged, so it was not analysed.")
    if await is_being_analysed(acquired, view.id) or await stages.awaits_analysis(
        acquired, view.id
    ):
        return AnalysisPending("The analysis has not ended: try again in a moment.")
    return None


async def is_being_analysed(acquired: Connection, submission: SubmissionId) -> bool:
    details = await stages.stage_details(acquired, submission)
    return details is not None and Task.ANALYZE in details.stages


async def why_none(
    acquired: Connection, work: AnalyzedId
) -> AnalysisPending | NotAnalyzed | None:
    """The newest request counts, else the stage of a submission."""
    state = await analyses.state_of_request(acquired, work)
    if state is not None and state not in TERMINAL:
        return AnalysisPending("The analysis has not ended: try again in a moment.")
    if state is State.FAILED or await analyses.stage_has_failed(acquired, work):
        return NotAnalyzed(FAILED)
    return None
