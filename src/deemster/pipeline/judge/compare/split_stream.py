"""Splits output that arrives in chunks into tokens or lines, with bounded memory."""

import re
from abc import ABC, abstractmethod
from copy import copy
from hashlib import sha256
from typing import ClassVar, Self

from deemster.pipeline.judge.compare.difference import EXCERPT_BYTES, Position

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


LONGEST_PIECE_BYTES = 1024 * 1024
DIGEST_MARK = b"\n\0"
"""No word, gap or line starts with this."""


class LongPiece:
    """A piece that is too long to be kept in memory."""

    def __init__(self, splitter: Splitter, position: Position, begun: bytes) -> None:
        self.position = position
        self.head = begun[:EXCERPT_BYTES]
        self._splitter = splitter
        self._all = sha256()
        self._trimmed = self._all.copy()
        self._short: bytes | None = None
        self.add(begun)
        trimmed = splitter.trim(splitter.folded(begun))
        if len(trimmed) <= LONGEST_PIECE_BYTES:  # too long only because of trailing space
            self._short = trimmed

    def add(self, data: bytes) -> None:
        data = self._splitter.folded(data)
        trimmed = self._splitter.trim(data)
        if trimmed:
            self._short = None
            self._all.update(trimmed)
            self._trimmed = self._all.copy()
        self._all.update(data[len(trimmed) :])

    def close(self) -> bytes:
        return DIGEST_MARK + self._trimmed.digest() if self._short is None else self._short

    def copy(self) -> Self:
        duplicate = copy(self)
        duplicate.__dict__["_all"] = self._all.copy()
        return duplicate


class SplitStream:
    """A piece longer than LONGEST_PIECE_BYTES is replaced by its digest.

    Equal pieces stay equal, wherever the chunks are cut.
    """

    def __init__(self, splitter: Splitter) -> None:
        self.splitter = splitter
        self.pieces: list[bytes] = []
        """The pieces of the last chunk."""
        self.index = 0
        """How many of the pieces have been compared."""
        self._line = 1
        self._offset = 0
        self._data = b""
        self._begun_bytes = 0
        """The length of the unfinished piece at the end of the data."""
        self._long: LongPiece | None = None
        self._ended: LongPiece | None = None
        """The first piece, if it is long and ended in this data, before `_split_from`."""
        self._split_from = 0

    def take(self, chunk: bytes) -> None:
        """Splits the next chunk; the pieces before it must have been compared."""
        self._data = self._advance() + chunk
        if self._ended is not None:
            end = self.splitter.end(chunk, self._ended.head)
            self._ended.add(chunk[:end])
            if end == len(chunk):
                self._long, self._ended = self._ended, None
                return
            self._split_from = end + self.splitter.separator_bytes
        self.pieces, begun = self.splitter.split(
            self.splitter.folded(self._data[self._split_from :])
        )
        if self._ended is not None:
            self.pieces.insert(0, self._ended.close())
        elif self.pieces:  # the other pieces are shorter than a chunk
            self.pieces[0] = shortened(self.pieces[0])
        self._begin(len(begun))

    def skip(self, chunk: bytes) -> None:
        """Passes over a chunk that is the same in both streams, without splitting it.

        So the beginning of a long piece may be missing from its digest, in both streams.
        """
        self._data = self._advance() + chunk
        if self._ended is not None and self.splitter.end(chunk, self._ended.head) == len(chunk):
            self._long, self._ended = self._ended, None
            return
        self._ended = None
        self._begin(len(self.splitter.unfinished(self._data)))

    def end(self) -> None:
        """Called after the last chunk: the unfinished piece is complete."""
        begun = self._advance()
        self._data = begun
        if self._ended is not None:
            self.pieces = [self._ended.close()]
        elif begun:
            self.pieces = [shortened(self.splitter.trim(self.splitter.folded(begun)))]

    def copy(self) -> Self:
        duplicate = copy(self)
        duplicate.__dict__["_long"] = self._long and self._long.copy()
        return duplicate

    def here(self) -> Position:
        return self._position(len(self._data))

    def locate(self, index: int) -> tuple[Position, bytes]:
        """The position of a piece, and its text or the beginning of it."""
        if self._ended is not None:
            if index == 0:
                return self._ended.position, self._ended.head
            index -= 1
        start, end = self.splitter.find(self._data[self._split_from :], index)
        text = self._data[self._split_from + start : self._split_from + end]
        return self._position(self._split_from + start), text

    def _position(self, index: int) -> Position:
        line = self._line + self._data.count(b"\n", 0, index)
        return Position(line, self._offset + index)

    def _begin(self, begun_bytes: int) -> None:
        """Remembers the unfinished piece at the end of the data."""
        if begun_bytes <= LONGEST_PIECE_BYTES:
            self._begun_bytes = begun_bytes
            return
        start = len(self._data) - begun_bytes
        self._long = LongPiece(self.splitter, self._position(start), self._data[start:])

    def _advance(self) -> bytes:
        """Drops the data, but returns the unfinished piece at its end."""
        done = len(self._data) - self._begun_bytes
        begun = self._data[done:]
        self._line += self._data.count(b"\n", 0, done)
        self._offset += done
        self._data = b""
        self._begun_bytes = 0
        self.pieces = []
        self.index = 0
        self._ended, self._long = self._long, None
        self._split_from = 0
        return begun


def shortened(piece: bytes) -> bytes:
    if len(piece) <= LONGEST_PIECE_BYTES:
        return piece
    return DIGEST_MARK + sha256(piece).digest()
