"""Pages of a list: how long they are, and where the next one begins."""

import base64
from collections.abc import Callable, Sequence
from typing import Annotated, Final, TypeVar

from pydantic import Field, StringConstraints

from deemster.api.http.errors import FieldFault, Invalid
from deemster.api.models.kinds import RequestModel

DEFAULT_LIMIT: Final = 50
MOST: Final = 100

T = TypeVar("T")


class PageQuery(RequestModel):
    limit: Annotated[int, Field(ge=1, le=MOST)] = DEFAULT_LIMIT
    cursor: Annotated[str, StringConstraints(max_length=256)] | None = None
    """The `next_cursor` of the page before."""

    @property
    def place(self) -> str | None:
        """The id after which this page begins."""
        if self.cursor is None:
            return None
        try:
            padded = self.cursor + "=" * (-len(self.cursor) % 4)
            place = base64.b64decode(padded, altchars=b"-_", validate=True).decode()
        except ValueError:
            place = ""
        if not place or not place.isprintable():
            raise Invalid([FieldFault("cursor", "this is no next_cursor of ours")])
        return place


def cut(
    found: Sequence[T], limit: int, id_of: Callable[[T], str]
) -> tuple[Sequence[T], str | None]:
    """Of one more than a page holds: the page, and the cursor of the next if there is one."""
    if len(found) <= limit:
        return found, None
    page = found[:limit]
    return page, base64.urlsafe_b64encode(id_of(page[-1]).encode()).decode().rstrip("=")
