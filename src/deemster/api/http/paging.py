"""Pages of a list: their size, their cursors, and the numbers that cursors and paths hold."""

import base64
from collections.abc import Callable, Sequence
from typing import Annotated, Final, Generic, TypeVar

from pydantic import Field, StringConstraints

from deemster.api.http.errors import FieldFault, Invalid
from deemster.api.models.field_types import RequestModel, ResponseModel

DEFAULT_LIMIT: Final = 50
MAX_LIMIT: Final = 100
MAX_DIGITS: Final = 18
"""Postgres can hold any number with so many digits."""

T = TypeVar("T")


class PageQuery(RequestModel):
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT
    """Most items on the page."""
    cursor: Annotated[str, StringConstraints(max_length=256)] | None = None
    """The `next_cursor` of the previous page."""

    @property
    def last_id(self) -> str | None:
        """Id of the last item on the previous page; None on the first page."""
        if self.cursor is None:
            return None
        try:
            padded = self.cursor + "=" * (-len(self.cursor) % 4)
            found = base64.b64decode(padded, altchars=b"-_", validate=True).decode()
        except ValueError:
            found = ""
        if not found or not found.isprintable():
            raise invalid_cursor()
        return found

    @property
    def last_number(self) -> int | None:
        """The same for a list whose ids are numbers."""
        if self.last_id is None:
            return None
        number = parse_number(self.last_id)
        if number is None:
            raise invalid_cursor()
        return number


class Page(ResponseModel, Generic[T]):
    items: list[T]
    next_cursor: str | None
    """Cursor of the next page; null on the last page."""


def cut(
    found: Sequence[T], limit: int, id_of: Callable[[T], str]
) -> tuple[Sequence[T], str | None]:
    """Takes up to one item more than the page has; returns the page and the next cursor."""
    if len(found) <= limit:
        return found, None
    page = found[:limit]
    return page, base64.urlsafe_b64encode(id_of(page[-1]).encode()).decode().rstrip("=")


def parse_number(text: str) -> int | None:
    is_number = text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS
    return int(text) if is_number else None


def invalid_cursor() -> Invalid:
    return Invalid([FieldFault("cursor", "use the next_cursor of a page of this list")])
