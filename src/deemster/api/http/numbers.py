"""Numbers that come as text, in paths and cursors: none that Postgres could not hold."""

from typing import Final

from deemster.api.http.errors import FieldFault, Invalid

MOST_DIGITS: Final = 18


def number_of(text: str) -> int | None:
    plain = text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS
    return int(text) if plain else None


def number_at(place: str | None) -> int | None:
    """Of a cursor."""
    if place is None:
        return None
    number = number_of(place)
    if number is None:
        raise Invalid([FieldFault("cursor", "this is no next_cursor of ours")])
    return number
