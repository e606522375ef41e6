"""Frames of the Language Server Protocol: before each message, a header tells its length."""

import re
from typing import Final

from deemster.domain.limits import MIB

MESSAGE_BYTES: Final = 4 * MIB
"""The longest message of a language server; those of clients are shorter (`ws_max_size`)."""
HEADER_BYTES: Final = 1024
END_OF_HEADER: Final = b"\r\n\r\n"
LENGTH: Final = re.compile(rb"(?im)^Content-Length:[ \t]*(\d{1,10})[ \t]*\r?$")


class BrokenFrame(ValueError):
    """A language server has written what is no frame, or too long a message."""


def frame(message: bytes) -> bytes:
    return b"Content-Length: %d%b%b" % (len(message), END_OF_HEADER, message)


class FrameReader:
    """Finds the messages in output that comes in chunks of any size."""

    def __init__(self) -> None:
        self._unread = bytearray()
        self._length: int | None = None
        """Length of the message whose header was read; None: a header is next."""

    def feed(self, data: bytes) -> list[bytes]:
        """Returns the messages that are complete now. Raises BrokenFrame."""
        self._unread += data
        found = []
        while (message := self._next()) is not None:
            found.append(message)
        return found

    def _next(self) -> bytes | None:
        if self._length is None:
            self._length = self._read_header()
        if self._length is None or len(self._unread) < self._length:
            return None
        message = bytes(self._unread[: self._length])
        del self._unread[: self._length]
        self._length = None
        return message

    def _read_header(self) -> int | None:
        end = self._unread.find(END_OF_HEADER, 0, HEADER_BYTES)
        if end < 0:
            if len(self._unread) >= HEADER_BYTES:
                raise BrokenFrame("There is no header.")
            return None
        length = LENGTH.search(self._unread[:end])
        if length is None or int(length[1]) > MESSAGE_BYTES:
            raise BrokenFrame("The header tells no length, or one that is too large.")
        del self._unread[: end + len(END_OF_HEADER)]
        return int(length[1])
