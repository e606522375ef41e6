"""`/v1/admin/dead-letters`: what no attempt could judge, until an admin deals with it (Q7)."""

from datetime import datetime
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api.authentication import Caller, actor_of
from deemster.api.http.idempotency_key import IDEMPOTENCY_KEY, idempotency_key
from deemster.api.http.json_response import answer, faults
from deemster.api.http.numbers import number_at, number_of
from deemster.api.http.paging import PageQuery, cut
from deemster.api.models.kinds import ResponseModel
from deemster.api.models.submissions import AcceptedOut
from deemster.api.routes.submissions import accepted_answer, as_accepted
from deemster.api.state import app_state
from deemster.domain.errors import Conflict, NotFound
from deemster.domain.submission import AcceptedSubmission
from deemster.pipeline.verdict import dead_letter_actions
from deemster.store import dead_letters
from deemster.store.dead_letters import DeadLetter, HistoryEvent
from deemster.store.pool import Connection, connection

router = APIRouter(tags=["admin"])
PATH: Final = "/v1/admin/dead-letters"


class DeadLetterQuery(PageQuery):
    state: Literal["open", "all"] = "open"
    """`open`: those that nobody has dealt with."""


class DeadLetterItem(ResponseModel):
    number: int
    submission_id: str
    task: str
    attempts: int
    error: str
    died_at: datetime
    outcome: Literal["requeued", "discarded"] | None
    """null: nobody has dealt with it."""
    settled_at: datetime | None
    settled_by: str | None
    requeued_as: str | None
    """The submission that took its place."""


class StepOut(ResponseModel):
    event: str
    state: str
    attempt: int
    reason: str | None
    at: datetime


class DeadLetterOut(DeadLetterItem):
    context: dict[str, Any]
    history: list[StepOut]
    """What happened to the submission, in order."""


class DeadLetterPage(ResponseModel):
    items: list[DeadLetterItem]
    next_cursor: str | None


@router.get(PATH, response_model=DeadLetterPage, responses=faults(401, 403, 422, 429, 503))
async def list_letters(
    request: Request, _caller: Caller, query: Annotated[DeadLetterQuery, Query()]
) -> Response:
    """Newest first."""
    async with connection(app_state(request).pool) as acquired:
        found = await dead_letters.page(
            acquired,
            include_resolved=query.state == "all",
            before=number_at(query.place),
            limit=query.limit + 1,
        )
    page, cursor = cut(found, query.limit, lambda letter: str(letter.id))
    items = [DeadLetterItem(**values_of(letter)) for letter in page]
    return answer(DeadLetterPage(items=items, next_cursor=cursor))


@router.get(
    PATH + "/{number}", response_model=DeadLetterOut, responses=faults(401, 403, 404, 429, 503)
)
async def show_letter(request: Request, _caller: Caller, number: str) -> Response:
    """With its error, its context, and all that happened before."""
    async with connection(app_state(request).pool) as acquired:
        return answer(await look(acquired, known(number)))


@router.post(
    PATH + "/{number}/requeue",
    status_code=202,
    response_model=AcceptedOut,
    openapi_extra={"parameters": [IDEMPOTENCY_KEY]},
    responses=faults(401, 403, 404, 409, 422, 429, 503),
)
async def requeue(request: Request, caller: Caller, number: str) -> Response:
    """A new submission takes the place of the one that failed, which stays to be read."""
    key = idempotency_key(request)
    state = app_state(request)
    letter = known(number)
    try:
        done = await dead_letter_actions.requeue(
            state.pool, letter, actor=actor_of(request, caller)
        )
        state.cache_invalidation.forget_submissions()
    except Conflict:
        # It can be done once, so any key that comes twice means the same, also at once (I1).
        async with connection(state.pool) as acquired:
            first = await requeued(acquired, letter) if key is not None else None
        if first is None:
            raise
        done = first
    return accepted_answer(done)


@router.post(
    PATH + "/{number}/discard",
    response_model=DeadLetterOut,
    responses=faults(401, 403, 404, 409, 429, 503),
)
async def discard(request: Request, caller: Caller, number: str) -> Response:
    """Takes it off the list for good; its submission stays failed."""
    pool = app_state(request).pool
    letter = known(number)
    await dead_letter_actions.discard(pool, letter, actor=actor_of(request, caller))
    async with connection(pool) as acquired:
        return answer(await look(acquired, letter))


def known(number: str) -> int:
    found = number_of(number)
    if found is None:
        raise no_such()
    return found


async def look(acquired: Connection, number: int) -> DeadLetterOut:
    letter = await dead_letters.get(acquired, number)
    if letter is None:
        raise no_such()
    steps = await dead_letters.submission_history(acquired, letter.submission)
    return DeadLetterOut(
        **values_of(letter),
        context=dict(letter.context),
        history=[step_out(step) for step in steps],
    )


async def requeued(acquired: Connection, number: int) -> AcceptedSubmission | None:
    letter = await dead_letters.get(acquired, number)
    new = letter.requeued_as if letter is not None else None
    return await as_accepted(acquired, new) if new is not None else None


def no_such() -> NotFound:
    return NotFound("There is no such dead letter: see GET /v1/admin/dead-letters?state=all.")


def values_of(letter: DeadLetter) -> dict[str, Any]:
    return {
        "number": letter.id,
        "submission_id": letter.submission,
        "task": letter.task,
        "attempts": letter.attempt,
        "error": letter.error,
        "died_at": letter.died_at,
        "outcome": letter.outcome,
        "settled_at": letter.settled_at,
        "settled_by": letter.settled_by,
        "requeued_as": letter.requeued_as,
    }


def step_out(step: HistoryEvent) -> StepOut:
    return StepOut(
        event=step.event,
        state=step.state,
        attempt=step.attempt,
        reason=step.reason,
        at=step.at,
    )
