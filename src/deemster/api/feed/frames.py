"""Server-Sent Events as they go over the wire, and the marks that clients come back with."""

import re
from dataclasses import dataclass
from typing import Final

from deemster.api.http.errors import FieldFault, Invalid
from deemster.domain.submission import JudgingProgress
from deemster.store.events import LAST_ID, EventCursor

RETRY_MS: Final = 2000
HEARTBEAT: Final = b": still here\n\n"
MARK: Final = re.compile(r"([0-9]{1,19})-([0-9]{1,19})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Frame:
    name: str
    data: str
    """JSON in one line."""
    mark: EventCursor | None = None

    @property
    def encoded(self) -> bytes:
        place = f"id: {written(self.mark)}\n" if self.mark is not None else ""
        return f"{place}event: {self.name}\ndata: {self.data}\n\n".encode()


def opening(mark: EventCursor | None) -> bytes:
    """With a mark, who is cut off before the first event comes back to where they were."""
    place = f"id: {written(mark)}\n" if mark is not None else ""
    return f"retry: {RETRY_MS}\n{place}\n".encode()


def progress_frame(progress: JudgingProgress) -> bytes:
    data = f'{{"case":{progress.done},"of":{progress.total}}}'
    return Frame("progress", data).encoded


def written(mark: EventCursor) -> str:
    return f"{mark.xact}-{mark.id}"


def mark_of(last_event_id: str | None) -> EventCursor | None:
    """Where a client was; browsers send an empty one when there was nothing."""
    if not last_event_id:
        return None
    found = MARK.fullmatch(last_event_id)
    if found is not None:
        mark = EventCursor(int(found[1]), int(found[2]))
        if max(mark.xact, mark.id) <= LAST_ID:
            return mark
    raise Invalid([FieldFault("Last-Event-ID", "this is no id of an event of ours")])
