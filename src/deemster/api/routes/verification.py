"""`/v1/problems/{id}/verification`: judge a package's examples, compare the verdicts (W3)."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api import verification
from deemster.api.authentication import Caller
from deemster.api.http.body import json_response
from deemster.api.http.errors import errors
from deemster.api.models.verifications import VerificationOut

router = APIRouter(tags=["problems"])
PATH: Final = "/v1/problems/{id}/verification"


@router.post(PATH, status_code=202, response_model=VerificationOut, responses=errors(404, 422))
async def start_verification(
    request: Request,
    caller: Caller,
    id: str,  # noqa: A002
    again: Annotated[bool, Query()] = False,
) -> Response:
    """Lets the workers judge the example submissions of the revision in force. Each is judged
    once, however often this is called; with `again=true`, a verification that has ended is
    repeated. The examples count in no statistics and no limits.
    """
    found = await verification.start_verification(request, caller, id, again=again)
    return json_response(found, 202)


@router.get(PATH, response_model=VerificationOut, responses=errors(404))
async def show_verification(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Shows how the example submissions of the revision in force were judged until now, and
    how that differs from what the author expects.
    """
    return json_response(await verification.read_verification(request, caller, id))
