"""Formats events as Server-Sent Events, and reads the ids that clients send back."""

import re
from typing import Final

from deemster.api.http.errors import FieldFault, Invalid
from deemster.api.models.events import event_out
from deemster.api.models.submissions import progress_out
from deemster.domain.lifecycle import PUBLIC_STATUS
from deemster.domain.submission import JudgingProgress
from deemster.store.events import LAST_ID, EventCursor, WorkEvent

RETRY_MS: Final = 2000
HEARTBEAT: Final = b": still here\n\n"
EVENT_ID: Final = re.compile(r"([0-9]{1,19})-([0-9]{1,19})", re.ASCII)


class EventMessage:
    """An event and its text, which is written once for all subscribers."""

    __slots__ = ("_texts", "event")

    def __init__(self, event: WorkEvent) -> None:
        self.event = event
        self._texts: dict[bool, bytes] = {}

    def text(self, *, for_admin: bool) -> bytes:
        text = self._texts.get(for_admin)
        if text is None:
            name = f"submission.{PUBLIC_STATUS[self.event.state]}"
            data = event_out(self.event, for_admin=for_admin).model_dump_json(exclude_none=True)
            text = f"{id_line(self.event.cursor)}event: {name}\ndata: {data}\n\n".encode()
            self._texts[for_admin] = text
        return text


def first_message(cursor: EventCursor | None) -> bytes:
    """Carries an id, so that a client which is cut off before the first event can resume."""
    return f"retry: {RETRY_MS}\n{id_line(cursor)}\n".encode()


def progress_message(progress: JudgingProgress) -> bytes:
    data = progress_out(progress).model_dump_json(exclude_unset=True)
    return f"event: progress\ndata: {data}\n\n".encode()


def id_line(cursor: EventCursor | None) -> str:
    return f"id: {cursor.xact}-{cursor.id}\n" if cursor is not None else ""


def parse_event_id(last_event_id: str | None) -> EventCursor | None:
    """Browsers send an empty id if they got no event."""
    if not last_event_id:
        return None
    found = EVENT_ID.fullmatch(last_event_id)
    if found is not None:
        cursor = EventCursor(int(found[1]), int(found[2]))
        if max(cursor.xact, cursor.id) <= LAST_ID:
            return cursor
    raise Invalid([FieldFault("Last-Event-ID", "use the id of an event of this API")])
