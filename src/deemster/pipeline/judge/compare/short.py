"""Compares a short output with a short answer at once, when the program has ended."""

from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from deemster.domain.errors import Unavailable
from deemster.domain.problem import Compare, Comparison
from deemster.pipeline.judge.compare.comparer import Comparer
from deemster.pipeline.judge.compare.difference import Difference

SHORT_BYTES: Final = 64 * 1024


class ShortComparer:
    """Recognises an output that equals the answer, and passes any other to a comparer.

    Has the methods of `Comparer`. Most outputs that are judged equal the answer, byte by byte
    or in their tokens, and `bytes` compares and splits them in native code.
    """

    def __init__(
        self, comparison: Comparison, answer: bytes, open_comparer: Callable[[], Comparer]
    ) -> None:
        self._comparison = comparison
        self._answer = answer
        self._open_comparer = open_comparer
        self._output = bytearray()
        self._comparer: Comparer | None = None
        self._fault: Unavailable | None = None

    def feed(self, data: bytes) -> None:
        if self._comparer is None:
            self._output += data
            if len(self._output) > SHORT_BYTES:
                self._compare_rest()
        else:
            self._comparer.feed(data)

    def _compare_rest(self) -> None:
        """Opens the comparer and gives it all output so far; never raises, as `feed`."""
        if self._fault is not None:
            return
        try:
            self._comparer = self._open_comparer()
        except Unavailable as fault:
            self._fault = fault
        else:
            self._comparer.feed(bytes(self._output))
        self._output.clear()

    def finish(self) -> Difference | None:
        if self._comparer is None and self._fault is None:
            if self._is_equal():
                return None
            self._compare_rest()
        if self._fault is not None:
            raise self._fault
        assert self._comparer is not None
        return self._comparer.finish()

    def _is_equal(self) -> bool:
        """Whether the output is certainly as expected."""
        if self._output == self._answer:
            return True  # in every mode
        comparison = self._comparison
        if not comparison.case_sensitive or comparison.space_sensitive:
            return False
        output, answer = bytes(self._output), self._answer
        if comparison.mode is Compare.TOKENS:
            return output.split() == answer.split()
        return comparison.mode is Compare.LINES and lines_of(output) == lines_of(answer)

    @property
    def unread_bytes(self) -> int:
        return 0 if self._comparer is None else self._comparer.unread_bytes

    def close(self) -> None:
        if self._comparer is not None:
            self._comparer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def lines_of(data: bytes) -> list[bytes]:
    """Without white space at their ends, and without blank lines at the end (J4)."""
    return [line.rstrip() for line in data.rstrip().split(b"\n")]
