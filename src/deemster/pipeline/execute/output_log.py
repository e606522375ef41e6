"""The output of one run of a program, in numbered chunks that are stored or sent soon."""

import time
from collections.abc import Callable
from typing import Final

from deemster.domain.execution import OutputChunk, Stream
from deemster.domain.ids import ExecutionId

MAX_PENDING: Final = 64
"""A program that changes the stream with each byte must not make a chunk of each byte: beyond
this number, output is added to the last chunk of its stream."""
TAIL_BYTES: Final = 4096


class OutputLog:
    """The output of one attempt, numbered in the order in which it was read."""

    def __init__(
        self, execution: ExecutionId, attempt: int, on_output: Callable[[], None]
    ) -> None:
        self.execution = execution
        self.attempt = attempt
        self.pending: list[OutputChunk] = []
        self._on_output = on_output
        self._number = 0
        self._taken = 0
        """Number of the last chunk that may be stored; it must not grow any more."""
        self._tail = b""
        self._started = time.monotonic()

    def restart_clock(self) -> None:
        """The program starts now; before, it was compiled."""
        self._started = time.monotonic()

    def sink(self, stream: Stream) -> Callable[[bytes], None]:
        return lambda data: self.add(stream, data)

    def add(self, stream: Stream, data: bytes) -> None:
        if not data:
            return
        self._tail = (self._tail + data)[-TAIL_BYTES:]
        index = self._mergeable(stream)
        if index is None:
            self._number += 1
            at_ms = round((time.monotonic() - self._started) * 1000)
            self.pending.append(OutputChunk(self.attempt, self._number, stream, at_ms, data))
        else:
            last = self.pending[index]
            self.pending[index] = OutputChunk(
                last.attempt, last.number, stream, last.at_ms, last.content + data
            )
        self._on_output()

    def end_of_stderr(self) -> bytes:
        """The last of what a language runtime may have said; a terminal has one stream."""
        return bytes(self._tail)

    def clear(self) -> None:
        """Drops what is not stored yet: of several runs, the last one's output counts."""
        self.pending = []

    def take(self) -> list[OutputChunk]:
        """Removes what is pending, to store it."""
        taken, self.pending = self.pending, []
        self._taken = self._number
        return taken

    def give_back(self, chunks: list[OutputChunk]) -> None:
        """Nobody knows whether they were stored: they will be stored again, as they are."""
        self.pending[:0] = chunks

    def _mergeable(self, stream: Stream) -> int | None:
        growing = [at for at, each in enumerate(self.pending) if each.number > self._taken]
        if growing and self.pending[-1].stream is stream:
            return growing[-1]
        if len(growing) < MAX_PENDING:
            return None
        return next((at for at in reversed(growing) if self.pending[at].stream is stream), None)
