"""Reads the jury's view of a submission, for routes and pages (O8)."""

import json
from typing import Any

from deemster.api.app_state import AppState
from deemster.api.lookups import known_submission, teaches, unknown_submission
from deemster.api.models.judgements import JudgementOut, judgement_out
from deemster.domain.account import Account, Role
from deemster.domain.lifecycle import State
from deemster.domain.submission import SubmissionView
from deemster.store import dead_letters, submissions
from deemster.store.inline_artifacts import fetch
from deemster.store.pool import Connection, connection


async def read_judgement(state: AppState, caller: Account, submission: str) -> JudgementOut:
    """Only for admins and the author who owns the problem: it has hidden test data."""
    async with connection(state.pool) as reading:
        view = await known_submission(reading, caller, submission)
        if not await teaches(reading, caller, view):
            raise unknown_submission()
        failure = await failure_of(reading, caller, view)
        digest = await submissions.jury_digest(reading, view.id)
        report: dict[str, Any] = {}
        if digest is not None:
            report = json.loads(await fetch(reading, state.dependencies.artifacts, digest))
    return judgement_out(view, report, failure)


async def failure_of(reading: Connection, caller: Account, view: SubmissionView) -> str | None:
    """Only admins see the error of a dead letter (Q7)."""
    if view.state is not State.FAILED:
        return None
    error = None
    if caller.role is Role.ADMIN:
        error = await dead_letters.latest_error(reading, view.id)
    return error or view.failure
