"""Passes a program's output on to this command's own, byte by byte as it came."""

import os
import select
from collections.abc import Callable


def ignore() -> None:
    pass


class OutputStream:
    """A sink on a descriptor. When that can take no more, for good, the rest is dropped."""

    def __init__(self, descriptor: int, when_closed: Callable[[], object] = ignore) -> None:
        self.when_closed = when_closed
        self._descriptor = descriptor
        self._at_line_start = True
        self._closed = False

    def __call__(self, data: bytes) -> None:
        if self._closed or not data:
            return
        self._at_line_start = data.endswith(b"\n")
        try:
            self._write(memoryview(data))
        except OSError:  # the reader has gone, or the disk is full
            self._closed = True
            self.when_closed()

    def say(self, text: str) -> None:
        """A line of our own, not glued to the program's last one."""
        self(("" if self._at_line_start else "\n").encode() + text.encode() + b"\n")

    def _write(self, view: memoryview) -> None:
        while view:
            try:
                view = view[os.write(self._descriptor, view) :]
            except BlockingIOError:  # whoever started us made it non-blocking
                select.select([], [self._descriptor], [])
