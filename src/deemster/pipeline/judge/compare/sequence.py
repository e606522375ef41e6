"""Compares two streams piece by piece, and as bytes for as long as they are the same bytes."""

from collections.abc import Callable, Sequence
from pathlib import Path

from deemster.pipeline.judge.compare.comparer import CHUNK_BYTES, Comparer
from deemster.pipeline.judge.compare.difference import (
    DIFFERS,
    ENDS_EARLY,
    GOES_ON,
    Difference,
    Position,
    common_length,
    excerpts,
    token_in_line,
)
from deemster.pipeline.judge.compare.pieces import Kind
from deemster.pipeline.judge.compare.side import Side

FirstMiss = Callable[[Sequence[bytes], Sequence[bytes]], int | None]


def same(expected: Sequence[bytes], got: Sequence[bytes]) -> int | None:
    if expected == got:
        return None
    pairs = zip(expected, got, strict=True)
    return next(index for index, (one, other) in enumerate(pairs) if one != other)


class SequenceComparer(Comparer):
    def __init__(self, answer: Path, kind: Kind, first_miss: FirstMiss) -> None:
        super().__init__(answer)
        self._kind = kind
        self._first_miss = first_miss
        self._output = Side(kind)
        self._expected = Side(kind)
        self._in_step = True
        """Both streams are the same so far, byte for byte."""
        self._answer_ended = False

    def _take(self, chunk: bytes) -> None:
        if self._in_step:
            expected = self._answer.read(len(chunk))
            if self._kind.equal(expected, chunk):
                self._output.skip(chunk)
                return
            if not self._kind.is_token and self._differ_at_once(expected, chunk):
                return
            self._fall_out_of_step()
            self._take_answer(expected)
        self._output.take(chunk)
        self._compare()

    def _end(self) -> None:
        if self._in_step:
            self._fall_out_of_step()
        self._output.end()
        self._compare()
        while self.difference is None:
            expected = self._expected
            missing = self._next_that_counts(expected)
            if missing is not None:
                self._miss(missing)
            elif self._answer_ended:
                return
            else:
                self._read_answer()

    def _fall_out_of_step(self) -> None:
        self._in_step = False
        self._expected = self._output.copy()

    def _differ_at_once(self, expected: bytes, chunk: bytes) -> bool:
        """Whether the first other byte settles it: lines may be long, so don't await their end.

        It does unless it is white space on both sides, which may turn out to end a line.
        """
        start = common_length(self._kind.folded(expected), self._kind.folded(chunk))
        if not (expected[start : start + 1] + chunk[start : start + 1]).strip():
            return False
        here = self._output.here()
        place = Position(here.line + chunk.count(b"\n", 0, start), here.offset + start)
        line = slice(chunk.rfind(b"\n", 0, start) + 1, None)
        what = DIFFERS if start < len(expected) else GOES_ON
        wanted, got = (side[line].partition(b"\n")[0] for side in (expected, chunk))
        self._differ(what, place, place, wanted, got)
        return True

    def _read_answer(self) -> None:
        self._take_answer(self._answer.read(CHUNK_BYTES))

    def _take_answer(self, chunk: bytes) -> None:
        if chunk:
            self._expected.take(chunk)
        else:
            self._answer_ended = True
            self._expected.end()

    def _compare(self) -> None:
        """Goes through the pieces of the output that are there, and reads the answer for it."""
        output, expected = self._output, self._expected
        while self.difference is None and output.index < len(output.pieces):
            count = min(
                len(output.pieces) - output.index, len(expected.pieces) - expected.index
            )
            if count:
                self._compare_next(count)
            elif self._answer_ended:
                self._pass_over_rest()
            else:
                self._read_answer()

    def _compare_next(self, count: int) -> None:
        output, expected = self._output, self._expected
        miss = self._first_miss(
            expected.pieces[expected.index : expected.index + count],
            output.pieces[output.index : output.index + count],
        )
        if miss is None:
            output.index += count
            expected.index += count
            return
        answer_place, wanted = expected.locate(expected.index + miss)
        place, got = output.locate(output.index + miss)
        self._differ(DIFFERS, place, answer_place, wanted, got)

    def _pass_over_rest(self) -> None:
        """The answer is at its end: so must be the output, blank lines apart."""
        output = self._output
        extra = self._next_that_counts(output)
        if extra is None:
            output.index = len(output.pieces)
            return
        place, got = output.locate(extra)
        self._differ(GOES_ON, place, self._expected.here(), b"", got)

    def _miss(self, index: int) -> None:
        place, wanted = self._expected.locate(index)
        self._differ(ENDS_EARLY, self._output.here(), place, wanted, b"")

    def _differ(
        self, what: str, place: Position, answer_place: Position, expected: bytes, got: bytes
    ) -> None:
        token = None
        if self._kind.is_token:
            token = token_in_line(self._answer, answer_place.offset)
        shown = excerpts(expected, got)
        self.difference = Difference(what, place, answer_place, token, *shown)

    def _next_that_counts(self, side: Side) -> int | None:
        """The next piece, but for blank lines, which may be missing at the end."""
        rest = side.pieces[side.index :]
        if self._kind.is_token:
            return side.index if rest else None
        if not any(rest):
            return None
        return next(index for index, line in enumerate(rest, side.index) if line)
