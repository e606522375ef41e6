"""`/events`: streams the events of submissions as Server-Sent Events (H1)."""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Query, Request
from starlette.responses import Response

from deemster.api.app_state import app_state, check_streams
from deemster.api.authentication import Caller, is_still_authorised
from deemster.api.feed.messages import parse_event_id
from deemster.api.feed.stream import NO_MORE, STREAM_CONTENT, EventStream
from deemster.api.feed.subscriptions import Topic
from deemster.api.http.errors import FieldFault, Forbidden, Invalid, errors
from deemster.api.lookups import account_filter, known_contest, visible_submission
from deemster.api.models.events import EventsQuery, StreamQuery
from deemster.domain.account import Account, Role
from deemster.domain.lifecycle import TERMINAL
from deemster.store import events
from deemster.store.events import EventCursor
from deemster.store.pool import connection

router = APIRouter(tags=["events"])
STREAM: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "A stream of events; the data of each event is an EventOut",
        "content": STREAM_CONTENT,
    },
    **errors(404, 422),
}
LastEventId = Annotated[
    str | None,
    Header(alias="Last-Event-ID", max_length=64, description="Id of the last event seen."),
]


@router.get(
    "/v1/submissions/{id}/events",
    status_code=200,
    response_class=EventStream,
    responses={**STREAM, **NO_MORE},
)
async def stream_submission_events(
    request: Request,
    caller: Caller,
    id: str,  # noqa: A002
    query: Annotated[StreamQuery, Query()],
    last_event_id: LastEventId = None,
) -> Response:
    """Streams all events of a submission, from its first to its last. While the submission
    runs, `progress` follows about once a second.
    """
    after = parse_event_id(last_event_id or query.last_event_id)
    async with connection(app_state(request).pool) as acquired:
        view = await visible_submission(acquired, caller, id)
        if after is not None and view.state in TERMINAL:
            past = await events.list_of_work(acquired, [view.id])
            if past[-1].cursor == after:
                return Response(status_code=204)
    topic = Topic(work=view.id, for_admin=caller.role is Role.ADMIN)
    return open_stream(request, caller, topic, after, query.seconds)


@router.get("/v1/events", status_code=200, response_class=EventStream, responses=STREAM)
async def stream_account_events(
    request: Request,
    caller: Caller,
    query: Annotated[EventsQuery, Query()],
    last_event_id: LastEventId = None,
) -> Response:
    """Streams the events of all your submissions: new ones, or those after Last-Event-ID."""
    after = parse_event_id(last_event_id or query.last_event_id)
    is_admin = caller.role is Role.ADMIN
    if query.everyone:
        if not is_admin:
            raise Forbidden(
                "Only admins can see the events of all accounts: leave out the parameter `all`."
            )
        if query.user is not None:
            raise Invalid([FieldFault("user", "send either user or all, not both")])
        account = None
    else:
        async with connection(app_state(request).pool) as acquired:
            account = await account_filter(acquired, caller, query.user or caller.id)
    await app_state(request).feed.start()
    topic = Topic(account=account, for_admin=is_admin)
    return open_stream(request, caller, topic, after, query.seconds)


@router.get(
    "/v1/contests/{id}/events", status_code=200, response_class=EventStream, responses=STREAM
)
async def stream_contest_events(
    request: Request,
    caller: Caller,
    id: str,  # noqa: A002
    query: Annotated[StreamQuery, Query()],
    last_event_id: LastEventId = None,
) -> Response:
    """Streams the events of your submissions in a contest. Admins get those of all accounts."""
    after = parse_event_id(last_event_id or query.last_event_id)
    async with connection(app_state(request).pool) as acquired:
        contest = (await known_contest(acquired, id)).id
    await app_state(request).feed.start()
    is_admin = caller.role is Role.ADMIN
    account = None if is_admin else caller.id
    topic = Topic(account=account, contest=contest, for_admin=is_admin)
    return open_stream(request, caller, topic, after, query.seconds)


def open_stream(
    request: Request,
    caller: Account,
    topic: Topic,
    after: EventCursor | None,
    seconds: float | None,
) -> EventStream:
    state = app_state(request)
    check_streams(state, caller)
    return EventStream(
        state.feed,
        topic,
        after,
        lambda: is_still_authorised(request, caller),
        account=caller.id,
        seconds=seconds,
    )
