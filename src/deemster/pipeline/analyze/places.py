"""Turns the places that tools print into regions of a file, counted in characters."""

import re
from functools import cached_property
from itertools import accumulate

from deemster.domain.analysis import Region
from deemster.pipeline.analyze.formats.tool_finding import OffsetPlace, Place

TOKEN = re.compile(r"\w+|\S")


class SourceText:
    """A file, with conversions from a tool's columns and offsets to characters."""

    def __init__(self, content: bytes, unit: str) -> None:
        self._content = content
        self._unit = unit

    @cached_property
    def _raw(self) -> list[bytes]:
        return self._content.split(b"\n")

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(len(line) + 1 for line in self._raw)]

    def region(self, place: Place) -> Region | None:
        """None if the file has no such place."""
        if isinstance(place, OffsetPlace):
            return self._region_of_bytes(place)
        if not 1 <= place.line <= len(self._raw):
            return None
        if place.column is None:
            return self._whole_line(place.line)
        start = (place.line, self._column(place.line, place.column))
        end_line = place.end_line or place.line
        if place.end_column is None or not 1 <= end_line <= len(self._raw):
            return self._token(*start)
        return self._between(start, (end_line, self._column(end_line, place.end_column)))

    def edit_region(self, place: Place) -> Region | None:
        """As `region`, but a place without length is an insertion."""
        found = self.region(place)
        if found is None or not is_point(place):
            return found
        line, column = found.start_line, found.start_column
        return Region(line, column, line, column)

    def _region_of_bytes(self, place: OffsetPlace) -> Region | None:
        if not 0 <= place.offset <= place.offset + place.length <= len(self._content):
            return None
        start = self._position(place.offset)
        if place.length == 0:
            return self._token(*start)
        return self._between(start, self._position(place.offset + place.length))

    def _position(self, offset: int) -> tuple[int, int]:
        before = self._content[:offset]
        line = before.count(b"\n") + 1
        start = self._starts[line - 1]
        return line, len(before[start:].decode(errors="replace")) + 1

    def _between(self, start: tuple[int, int], end: tuple[int, int]) -> Region:
        return Region(*start, *end) if end > start else self._token(*start)

    def _whole_line(self, line: int) -> Region:
        text = self._text(line)
        first = len(text) - len(text.lstrip())
        return Region(line, first + 1, line, max(len(text.rstrip()), first) + 1)

    def _token(self, line: int, column: int) -> Region:
        """The word or sign at a place for which the tool gives no end."""
        match = TOKEN.match(self._text(line), column - 1)
        return Region(line, column, line, match.end() + 1 if match else column)

    def _column(self, line: int, column: int) -> int:
        text = self._text(line)
        if self._unit == "bytes":
            before = self._raw[line - 1][: max(0, column - 1)]
            column = len(before.decode(errors="replace")) + 1
        elif self._unit == "utf16":
            units = text.encode("utf-16-le", errors="replace")[: max(0, column - 1) * 2]
            column = len(units.decode("utf-16-le", errors="replace")) + 1
        return min(max(1, column), len(text) + 1)

    def _text(self, line: int) -> str:
        return self._raw[line - 1].decode(errors="replace").removesuffix("\r")


def is_point(place: Place) -> bool:
    if isinstance(place, OffsetPlace):
        return place.length == 0
    end_line = place.end_line or place.line
    return (end_line, place.end_column) == (place.line, place.column)
