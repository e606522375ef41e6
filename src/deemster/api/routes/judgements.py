"""`/v1/submissions/{id}/judgement`: the jury's view of a submission (O8)."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from deemster.api.app_state import app_state
from deemster.api.authentication import Caller
from deemster.api.http.body import json_response
from deemster.api.http.errors import errors
from deemster.api.judgements import read_judgement
from deemster.api.models.judgements import JudgementOut
from deemster.api.models.submissions import SUBMISSIONS_PATH

router = APIRouter(tags=["submissions"])


@router.get(
    SUBMISSIONS_PATH + "/{id}/judgement", response_model=JudgementOut, responses=errors(404)
)
async def show_judgement(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Shows every test case with its time, memory, verdict and messages, and the reason of a
    Judge Error. Only admins and the author who owns the problem can do this.
    """
    return json_response(await read_judgement(app_state(request), caller, id))
