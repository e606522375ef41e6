"""`/events`: what happens to submissions, told as it happens by Server-Sent Events (H1)."""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Query, Request
from pydantic import Field, StringConstraints
from starlette.responses import Response

from deemster.api.admission import TooMany
from deemster.api.authentication import Caller, identify
from deemster.api.feed.frames import mark_of
from deemster.api.feed.stream import HEARTBEAT_S, MEDIA_TYPE, EventStream
from deemster.api.feed.subscriber import Topic
from deemster.api.http.errors import FieldFault, Forbidden, Invalid
from deemster.api.http.json_response import faults
from deemster.api.models.kinds import RequestModel
from deemster.api.models.submission_requests import Plain
from deemster.api.routes.submissions import visible, whose
from deemster.api.state import app_state
from deemster.domain.account import Account, Role
from deemster.domain.errors import NotFound, Refused, Unavailable
from deemster.domain.ids import GENERATED_ID, ContestId
from deemster.domain.lifecycle import TERMINAL
from deemster.store import contests, events
from deemster.store.events import EventCursor
from deemster.store.pool import connection

router = APIRouter(tags=["events"])
FAULTS: Final = faults(401, 403, 404, 422, 429, 503)
STREAM: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Events, until there are no more; the data of each is an EventOut",
        "content": {MEDIA_TYPE: {"schema": {"type": "string"}}},
    },
    **FAULTS,
}
NO_MORE: Final[dict[int | str, dict[str, Any]]] = {
    204: {"description": "It has ended, and its last event was told: don't come back"}
}

LONGEST_S: Final = 24 * 3600
LastEventId = Annotated[
    str | None,
    Header(alias="Last-Event-ID", max_length=64, description="the id of the last event seen"),
]


class ResumeQuery(RequestModel):
    last_event_id: Annotated[str, StringConstraints(max_length=64)] | None = None
    """For clients that can't send the header."""
    seconds: Annotated[float, Field(ge=0, le=LONGEST_S)] | None = None
    """The stream ends after so long; come back with the last id. Unset: it does not."""


class EventsQuery(ResumeQuery):
    user: Plain | None = None
    """For admins: whose events, by id or name."""
    everyone: Annotated[bool, Field(alias="all")] = False
    """For admins: all events."""


@router.get(
    "/v1/submissions/{id}/events",
    status_code=200,
    response_class=EventStream,
    responses={**STREAM, **NO_MORE},
)
async def of_submission(
    request: Request,
    caller: Caller,
    id: str,  # noqa: A002
    query: Annotated[ResumeQuery, Query()],
    last_event_id: LastEventId = None,
) -> Response:
    """All that happened to it so far, what happens next, and its end. With `progress` while
    it runs, about once a second.
    """
    after = mark_of(last_event_id or query.last_event_id)
    async with connection(app_state(request).pool) as acquired:
        view = await visible(acquired, caller, id)
        if after is not None and view.state in TERMINAL:
            told = await events.list_of_submissions(acquired, [view.id])
            if told[-1].cursor == after:
                return Response(status_code=204)
    topic = Topic(submission=view.id, for_admin=caller.role is Role.ADMIN)
    return stream(request, caller, topic, after, query.seconds)


@router.get("/v1/events", status_code=200, response_class=EventStream, responses=STREAM)
async def of_account(
    request: Request,
    caller: Caller,
    query: Annotated[EventsQuery, Query()],
    last_event_id: LastEventId = None,
) -> Response:
    """What happens to all your submissions from now on, or from the event on that you name."""
    after = mark_of(last_event_id or query.last_event_id)
    is_admin = caller.role is Role.ADMIN
    if query.everyone:
        if not is_admin:
            raise Forbidden("Only admins hear of everyone's submissions: leave all out.")
        if query.user is not None:
            raise Invalid([FieldFault("user", "give this or all, not both")])
        account = None
    else:
        async with connection(app_state(request).pool) as acquired:
            account = await whose(acquired, caller, query.user or caller.id)
    await app_state(request).feed.start()
    topic = Topic(account=account, for_admin=is_admin)
    return stream(request, caller, topic, after, query.seconds)


@router.get(
    "/v1/contests/{id}/events", status_code=200, response_class=EventStream, responses=STREAM
)
async def of_contest(
    request: Request,
    caller: Caller,
    id: str,  # noqa: A002
    query: Annotated[ResumeQuery, Query()],
    last_event_id: LastEventId = None,
) -> Response:
    """What happens to your submissions of a contest; admins hear of everyone's."""
    after = mark_of(last_event_id or query.last_event_id)
    contest = ContestId(id)
    async with connection(app_state(request).pool) as acquired:
        if not GENERATED_ID.fullmatch(id) or await contests.get(acquired, contest) is None:
            raise NotFound("There is no such contest: see GET /v1/contests.")
    await app_state(request).feed.start()
    is_admin = caller.role is Role.ADMIN
    account = None if is_admin else caller.id
    topic = Topic(account=account, contest=contest, for_admin=is_admin)
    return stream(request, caller, topic, after, query.seconds)


def stream(
    request: Request,
    caller: Account,
    topic: Topic,
    after: EventCursor | None,
    seconds: float | None,
) -> EventStream:
    state = app_state(request)
    most = state.settings.streams_per_user
    if state.feed.streams[caller.id] >= most:
        raise TooMany(
            f"You listen to {most} streams already: close some.", HEARTBEAT_S, limit=most
        )

    async def is_welcome() -> bool:
        """Its token may be revoked by now, its account disabled, or no admin's any more."""
        try:
            again = await identify(request)
        except Unavailable:
            return True
        except Refused:
            # Also when too many strangers come from there: who is known is not counted so.
            return False
        return (again.id, again.role, again.scopes) == (caller.id, caller.role, caller.scopes)

    return EventStream(
        state.feed, topic, after, is_welcome, listener=caller.id, seconds=seconds
    )
