"""What all comparers share: they never raise while they are fed, and read the answer alone."""

import os
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import Self

from deemster.domain.errors import Unavailable
from deemster.pipeline.judge.compare.difference import Difference

CHUNK_BYTES = 64 * 1024


class Comparer(ABC):
    """Takes the output as it comes. `feed` is a sink for `Boxes.run`.

    A sink is called by the event loop, which would lose what it raises; so a fault is kept and
    raised by `finish`.
    """

    def __init__(self, answer: Path) -> None:
        self._path = answer
        self._fault: OSError | None = None
        self._done = False
        self.difference: Difference | None = None
        """Set as soon as one is found; what is fed from then on costs nothing."""
        try:
            self._answer = answer.open("rb")
        except OSError as fault:
            raise self._unavailable(fault) from fault

    def feed(self, data: bytes) -> None:
        for start in range(0, len(data), CHUNK_BYTES):
            if self.difference is not None or self._fault is not None:
                return
            chunk = data if len(data) <= CHUNK_BYTES else data[start : start + CHUNK_BYTES]
            try:
                self._take(chunk)
            except OSError as fault:
                self._fault = fault

    def finish(self) -> Difference | None:
        """The output is complete. None: it is as expected.

        Reads on in the answer, at most to its next token that isn't there in the output; where
        the order doesn't matter to its end: see `unread_bytes`.
        """
        if self.difference is None and self._fault is None and not self._done:
            self._done = True
            try:
                self._end()
            except OSError as fault:
                self._fault = fault
        self.close()
        if self._fault is not None:
            raise self._unavailable(self._fault) from self._fault
        return self.difference

    @property
    def unread_bytes(self) -> int:
        """How much of the answer is left: if that is a lot, call `finish` in a thread."""
        if self.difference is not None or self._answer.closed:
            return 0
        return max(0, os.fstat(self._answer.fileno()).st_size - self._answer.tell())

    def close(self) -> None:
        self._answer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _unavailable(self, fault: OSError) -> Unavailable:
        return Unavailable(
            f"The answer file {self._path.name} can't be read ({fault.strerror}): "
            "import the problem again, or look at the disk."
        )

    @abstractmethod
    def _take(self, chunk: bytes) -> None:
        """At most CHUNK_BYTES of the output."""

    @abstractmethod
    def _end(self) -> None: ...
