"""What a stream is cut into: words, words and the gaps between them, or lines."""

import re
from abc import ABC, abstractmethod
from typing import ClassVar

WORD = re.compile(rb"\S+")
WORD_OR_GAP = re.compile(rb"\s+|\S+")


class Kind(ABC):
    """White space is that of the C locale, as for `bytes.split`: blank, \\t \\n \\v \\f \\r."""

    separator_bytes: ClassVar[int] = 0
    """What stands between two pieces and belongs to neither."""
    is_token: ClassVar[bool] = True

    def __init__(self, fold: bool) -> None:
        self.fold = fold
        """The case of ASCII letters doesn't matter."""

    def folded(self, data: bytes) -> bytes:
        return data.lower() if self.fold else data

    def equal(self, one: bytes, other: bytes) -> bool:
        return one == other or (self.fold and one.lower() == other.lower())

    @abstractmethod
    def cut(self, data: bytes) -> tuple[list[bytes], bytes]:
        """The whole pieces, and the beginning of one that may go on."""

    @abstractmethod
    def last(self, data: bytes) -> bytes:
        """Only the beginning of one that may go on."""

    @abstractmethod
    def end(self, data: bytes, begun: bytes) -> int:
        """Where the piece ends that has begun so; the length of the data if it goes on."""

    @abstractmethod
    def find(self, data: bytes, index: int) -> tuple[int, int]:
        """From where to where the piece with this index stretches."""

    def trim(self, piece: bytes) -> bytes:
        """Without what doesn't count at its end."""
        return piece


class WordPiece(Kind):
    def cut(self, data: bytes) -> tuple[list[bytes], bytes]:
        words = data.split()
        goes_on = bool(words) and not data[-1:].isspace()
        return words, words.pop() if goes_on else b""

    def last(self, data: bytes) -> bytes:
        return b"" if not data or data[-1:].isspace() else data.rsplit(maxsplit=1)[-1]

    def end(self, data: bytes, begun: bytes) -> int:
        del begun
        # Much faster than a search for white space by a regular expression.
        return 0 if data[:1].isspace() else len(data.split(maxsplit=1)[0])

    def find(self, data: bytes, index: int) -> tuple[int, int]:
        return nth_match(WORD, data, index)


class SpacedPiece(WordPiece):
    def cut(self, data: bytes) -> tuple[list[bytes], bytes]:
        pieces: list[bytes] = WORD_OR_GAP.findall(data)
        return pieces, pieces.pop() if pieces else b""

    def last(self, data: bytes) -> bytes:
        return data[len(data.rstrip()) :] or super().last(data)

    def end(self, data: bytes, begun: bytes) -> int:
        if begun[:1].isspace():
            return len(data) - len(data.lstrip())
        return super().end(data, begun)

    def find(self, data: bytes, index: int) -> tuple[int, int]:
        return nth_match(WORD_OR_GAP, data, index)


class LinePiece(Kind):
    """Without the white space at its end, and so without CR before LF."""

    separator_bytes = 1
    is_token = False

    def cut(self, data: bytes) -> tuple[list[bytes], bytes]:
        if data.isspace():  # a flood of blank lines
            return [b""] * data.count(b"\n"), self.last(data)
        lines = data.split(b"\n")
        rest = lines.pop()
        return [line.rstrip() for line in lines], rest

    def last(self, data: bytes) -> bytes:
        return data[data.rfind(b"\n") + 1 :]

    def end(self, data: bytes, begun: bytes) -> int:
        del begun
        end = data.find(b"\n")
        return len(data) if end < 0 else end

    def find(self, data: bytes, index: int) -> tuple[int, int]:
        start = 0
        for _ in range(index):
            start = data.find(b"\n", start) + 1
        return start, start + self.end(data[start:], b"")

    def trim(self, piece: bytes) -> bytes:
        return piece.rstrip()


def nth_match(pattern: re.Pattern[bytes], data: bytes, index: int) -> tuple[int, int]:
    for number, match in enumerate(pattern.finditer(data)):
        if number == index:
            return match.span()
    raise IndexError(index)
