"""`/v1/submissions/{id}/judgement`: the jury's view of a submission (O8)."""

import json
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from deemster.api.authentication import Caller
from deemster.api.http.body import json_response
from deemster.api.http.errors import errors
from deemster.api.lookups import known_submission, teaches, unknown_submission
from deemster.api.models.judgements import JudgementOut, judgement_out
from deemster.api.models.submissions import SUBMISSIONS_PATH
from deemster.api.state import app_state
from deemster.domain.account import Account, Role
from deemster.domain.lifecycle import State
from deemster.domain.submission import SubmissionView
from deemster.store import dead_letters, submissions
from deemster.store.inline_artifacts import fetch
from deemster.store.pool import Connection, connection

router = APIRouter(tags=["submissions"])


@router.get(
    SUBMISSIONS_PATH + "/{id}/judgement", response_model=JudgementOut, responses=errors(404)
)
async def show_judgement(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Shows every test case with its time, memory, verdict and messages, and the reason of a
    Judge Error. Only admins and the author who owns the problem can do this.
    """
    state = app_state(request)
    async with connection(state.pool) as reading:
        view = await known_submission(reading, caller, id)
        if not await teaches(reading, caller, view):
            raise unknown_submission()
        failure = await failure_of(reading, caller, view)
        digest = await submissions.jury_digest(reading, view.id)
        report: dict[str, Any] = {}
        if digest is not None:
            report = json.loads(await fetch(reading, state.dependencies.artifacts, digest))
    return json_response(judgement_out(view, report, failure))


async def failure_of(reading: Connection, caller: Account, view: SubmissionView) -> str | None:
    """Only admins see the error of a dead letter (Q7)."""
    if view.state is not State.FAILED:
        return None
    error = None
    if caller.role is Role.ADMIN:
        error = await dead_letters.latest_error(reading, view.id)
    return error or view.failure
