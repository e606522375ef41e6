"""Compares an output with the answer byte by byte, optionally ignoring letter case."""

from pathlib import Path

from deemster.pipeline.judge.compare.comparer import CHUNK_BYTES, Comparer
from deemster.pipeline.judge.compare.difference import (
    DIFFERS,
    ENDS_EARLY,
    EXCERPT_BYTES,
    GOES_ON,
    Difference,
    Position,
    common_length,
    excerpts,
)


class ExactComparer(Comparer):
    def __init__(self, answer: Path, fold: bool) -> None:
        super().__init__(answer)
        self._fold = fold
        self._offset = 0
        self._line = 1

    def _take(self, chunk: bytes) -> None:
        expected = self._answer.read(len(chunk))
        if expected == chunk or (self._fold and expected.lower() == chunk.lower()):
            self._offset += len(chunk)
            self._line += chunk.count(b"\n")
        else:
            self._differ(expected + self._answer.read(EXCERPT_BYTES), chunk)

    def _end(self) -> None:
        if rest := self._answer.read(CHUNK_BYTES):
            self._differ(rest, b"")

    def _differ(self, expected: bytes, got: bytes) -> None:
        one, other = (expected.lower(), got.lower()) if self._fold else (expected, got)
        start = common_length(one, other)
        position = Position(self._line + got.count(b"\n", 0, start), self._offset + start)
        expected, got = expected[start:], got[start:]
        if expected and got:
            what = DIFFERS
        elif expected:
            what = ENDS_EARLY
        else:
            what = GOES_ON
        self.difference = Difference(what, position, position, None, *excerpts(expected, got))
