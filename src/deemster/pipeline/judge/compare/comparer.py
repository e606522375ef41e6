"""The base class of comparers, which read the answer file while they are fed the output."""

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Self

from deemster.domain.errors import Unavailable
from deemster.pipeline.judge.compare.difference import Difference

CHUNK_BYTES = 64 * 1024


class Comparer(ABC):
    """`feed` is a sink for `Boxes.run`.

    The event loop calls a sink and would lose its exceptions, so `finish` raises them.
    """

    def __init__(self, answer: Path) -> None:
        self._path = answer
        self._fault: OSError | None = None
        self._done = False
        self.difference: Difference | None = None
        """Set when one is found; later output is ignored."""
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
        """Called when the output is complete; returns None if it is as expected.

        This reads the rest of the answer up to the first missing token, or all of it if the
        order doesn't matter (see `unread_bytes`).
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
        """How much of the answer is left; if it is a lot, call `finish` in a thread."""
        if self.difference is not None or self._answer.closed:
            return 0
        return max(0, os.fstat(self._answer.fileno()).st_size - self._answer.tell())

    def close(self) -> None:
        self._answer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _unavailable(self, fault: OSError) -> Unavailable:
        return Unavailable(
            f"The answer file {self._path.name} can't be read ({fault.strerror}): "
            "import the problem again, or check the disk."
        )

    @abstractmethod
    def _take(self, chunk: bytes) -> None:
        """Compares the next chunk of the output, at most CHUNK_BYTES."""

    @abstractmethod
    def _end(self) -> None:
        """Compares what is left at the end of the output."""
