"""Compares an output with the answer in order, word by word or line by line."""

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
from deemster.pipeline.judge.compare.split_stream import SplitStream, Splitter

FindMismatch = Callable[[Sequence[bytes], Sequence[bytes]], int | None]


def find_mismatch(expected: Sequence[bytes], got: Sequence[bytes]) -> int | None:
    if expected == got:
        return None
    pairs = zip(expected, got, strict=True)
    return next(index for index, (one, other) in enumerate(pairs) if one != other)


class SequenceComparer(Comparer):
    def __init__(self, answer: Path, splitter: Splitter, find_mismatch: FindMismatch) -> None:
        super().__init__(answer)
        self._splitter = splitter
        self._find_mismatch = find_mismatch
        self._output = SplitStream(splitter)
        self._expected = SplitStream(splitter)
        self._identical = True
        """While both streams have the same bytes, they need not be split."""
        self._answer_ended = False

    def _take(self, chunk: bytes) -> None:
        if self._identical:
            expected = self._answer.read(len(chunk))
            if self._splitter.equal(expected, chunk):
                self._output.skip(chunk)
                return
            if not self._splitter.is_token and self._differ_at_once(expected, chunk):
                return
            self._start_splitting()
            self._take_answer(expected)
        self._output.take(chunk)
        self._compare()

    def _end(self) -> None:
        if self._identical:
            self._start_splitting()
        self._output.end()
        self._compare()
        while self.difference is None:
            expected = self._expected
            missing = self._next_significant(expected)
            if missing is not None:
                self._report_missing(missing)
            elif self._answer_ended:
                return
            else:
                self._read_answer()

    def _start_splitting(self) -> None:
        self._identical = False
        self._expected = self._output.copy()

    def _differ_at_once(self, expected: bytes, chunk: bytes) -> bool:
        """Compares without waiting for the ends of the lines, which may be long.

        White space on both sides decides nothing, because it may be at the end of a line.
        """
        start = common_length(self._splitter.folded(expected), self._splitter.folded(chunk))
        if not (expected[start : start + 1] + chunk[start : start + 1]).strip():
            return False
        here = self._output.here()
        position = Position(here.line + chunk.count(b"\n", 0, start), here.offset + start)
        line = slice(chunk.rfind(b"\n", 0, start) + 1, None)
        what = DIFFERS if start < len(expected) else GOES_ON
        missing, got = (data[line].partition(b"\n")[0] for data in (expected, chunk))
        self._differ(what, position, position, missing, got)
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
        """Compares the available pieces of the output, reading the answer as needed."""
        output, expected = self._output, self._expected
        while self.difference is None and output.index < len(output.pieces):
            count = min(
                len(output.pieces) - output.index, len(expected.pieces) - expected.index
            )
            if count:
                self._compare_next(count)
            elif self._answer_ended:
                self._check_rest()
            else:
                self._read_answer()

    def _compare_next(self, count: int) -> None:
        output, expected = self._output, self._expected
        mismatch = self._find_mismatch(
            expected.pieces[expected.index : expected.index + count],
            output.pieces[output.index : output.index + count],
        )
        if mismatch is None:
            output.index += count
            expected.index += count
            return
        answer_position, missing = expected.locate(expected.index + mismatch)
        position, got = output.locate(output.index + mismatch)
        self._differ(DIFFERS, position, answer_position, missing, got)

    def _check_rest(self) -> None:
        """After the end of the answer, the output may contain only blank lines."""
        output = self._output
        extra = self._next_significant(output)
        if extra is None:
            output.index = len(output.pieces)
            return
        position, got = output.locate(extra)
        self._differ(GOES_ON, position, self._expected.here(), b"", got)

    def _report_missing(self, index: int) -> None:
        position, missing = self._expected.locate(index)
        self._differ(ENDS_EARLY, self._output.here(), position, missing, b"")

    def _differ(
        self,
        what: str,
        position: Position,
        answer_position: Position,
        expected: bytes,
        got: bytes,
    ) -> None:
        token = None
        if self._splitter.is_token:
            token = token_in_line(self._answer, answer_position.offset)
        shown = excerpts(expected, got)
        self.difference = Difference(what, position, answer_position, token, *shown)

    def _next_significant(self, stream: SplitStream) -> int | None:
        """The index of the next piece; blank lines don't count, they may be missing."""
        rest = stream.pieces[stream.index :]
        if self._splitter.is_token:
            return stream.index if rest else None
        if not any(rest):
            return None
        return next(index for index, line in enumerate(rest, stream.index) if line)
