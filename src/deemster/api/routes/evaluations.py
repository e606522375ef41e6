"""`/v1/submissions/{id}/evaluation`: show the evaluation of a submission, correct its score."""

from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import Response

from deemster.api.app_state import app_state
from deemster.api.authentication import Caller, actor_of
from deemster.api.evaluations import read_evaluation, shown_evaluation
from deemster.api.http.body import json_response, read_json, request_body
from deemster.api.http.errors import errors
from deemster.api.http.idempotent_replay import IDEMPOTENCY_KEY, respond_once
from deemster.api.lookups import known_submission, teaches, unknown_submission
from deemster.api.models.evaluations import CorrectionIn, EvaluationOut
from deemster.api.models.submissions import SUBMISSIONS_PATH
from deemster.domain.errors import NotFound
from deemster.store import audit, evaluations
from deemster.store.pool import transaction

router = APIRouter(tags=["evaluations"])
PATH: Final = SUBMISSIONS_PATH + "/{id}/evaluation"


@router.get(PATH, response_model=EvaluationOut, responses=errors(404))
async def show_evaluation(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Shows the evaluation of a submission to its owner, to the owner of the problem and to
    admins. Only the latter two see what it cost and why it is flagged.
    """
    found = await read_evaluation(app_state(request), caller, id)
    if found is None:
        raise not_evaluated()
    return json_response(found)


@router.post(
    PATH + "/corrections",
    status_code=201,
    response_model=EvaluationOut,
    openapi_extra={**request_body(CorrectionIn), **IDEMPOTENCY_KEY},
    responses=errors(400, 404, 408, 413, 415, 422),
)
async def correct_score(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Sets the score of an evaluation. The computed score and earlier corrections are kept.
    Only the owner of the problem and admins can do this.
    """
    asked = await read_json(request, CorrectionIn)
    async with transaction(app_state(request).pool) as writing:
        view = await known_submission(writing, caller, id)
        if not await teaches(writing, caller, view):
            raise unknown_submission()

        async def create() -> Response:
            stored = await evaluations.correct(
                writing, view.id, asked.score, asked.reason, caller.id
            )
            if stored is None:
                raise not_evaluated()
            await audit.record(
                writing,
                actor_of(request, caller),
                "evaluation.correct",
                view.id,
                old_score=stored.corrections[-1].old_score,
                new_score=asked.score,
                reason=asked.reason,
            )
            return json_response(await shown_evaluation(writing, stored, for_teacher=True), 201)

        return await respond_once(request, caller, writing, asked, create)


def not_evaluated() -> NotFound:
    return NotFound("This submission has no evaluation, or not yet.")
