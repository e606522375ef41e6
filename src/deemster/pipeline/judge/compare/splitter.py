"""Splits a stream into pieces: words, words and the white space between them, or lines."""

import re
from abc import ABC, abstractmethod
from typing import ClassVar

WORD = re.compile(rb"\S+")
WORD_OR_GAP = re.compile(rb"\s+|\S+")


class Splitter(ABC):
    """White space is that of the C locale, as for `bytes.split`: space, \\t \\n \\v \\f \\r."""

    separator_bytes: ClassVar[int] = 0
    """The length of the separator between two pieces."""
    is_token: ClassVar[bool] = True

    def __init__(self, fold: bool) -> None:
        self.fold = fold
        """Ignore the case of ASCII letters."""

    def folded(self, data: bytes) -> bytes:
        return data.lower() if self.fold else data

    def equal(self, one: bytes, other: bytes) -> bool:
        return one == other or (self.fold and one.lower() == other.lower())

    @abstractmethod
    def split(self, data: bytes) -> tuple[list[bytes], bytes]:
        """The complete pieces, and the last one if it may continue in the next chunk."""

    @abstractmethod
    def unfinished(self, data: bytes) -> bytes:
        """Only the last piece, if it may continue in the next chunk."""

    @abstractmethod
    def end(self, data: bytes, begun: bytes) -> int:
        """Where the piece that starts with `begun` ends, at most the length of the data."""

    @abstractmethod
    def find(self, data: bytes, index: int) -> tuple[int, int]:
        """The start and the end of the piece with this index."""

    def trim(self, piece: bytes) -> bytes:
        """Removes white space at the end that doesn't count."""
        return piece


class WordSplitter(Splitter):
    def split(self, data: bytes) -> tuple[list[bytes], bytes]:
        words = data.split()
        continues = bool(words) and not data[-1:].isspace()
        return words, words.pop() if continues else b""

    def unfinished(self, data: bytes) -> bytes:
        return b"" if not data or data[-1:].isspace() else data.rsplit(maxsplit=1)[-1]

    def end(self, data: bytes, begun: bytes) -> int:
        del begun
        # Much faster than a regular expression.
        return 0 if data[:1].isspace() else len(data.split(maxsplit=1)[0])

    def find(self, data: bytes, index: int) -> tuple[int, int]:
        return nth_match(WORD, data, index)


class WordAndGapSplitter(WordSplitter):
    def split(self, data: bytes) -> tuple[list[bytes], bytes]:
        pieces: list[bytes] = WORD_OR_GAP.findall(data)
        return pieces, pieces.pop() if pieces else b""

    def unfinished(self, data: bytes) -> bytes:
        return data[len(data.rstrip()) :] or super().unfinished(data)

    def end(self, data: bytes, begun: bytes) -> int:
        if begun[:1].isspace():
            return len(data) - len(data.lstrip())
        return super().end(data, begun)

    def find(self, data: bytes, index: int) -> tuple[int, int]:
        return nth_match(WORD_OR_GAP, data, index)


class LineSplitter(Splitter):
    """White space at the end of a line, such as CR, doesn't count."""

    separator_bytes = 1
    is_token = False

    def split(self, data: bytes) -> tuple[list[bytes], bytes]:
        if data.isspace():  # faster for many blank lines
            return [b""] * data.count(b"\n"), self.unfinished(data)
        lines = data.split(b"\n")
        rest = lines.pop()
        return [line.rstrip() for line in lines], rest

    def unfinished(self, data: bytes) -> bytes:
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
