"""Splits a stream that arrives in chunks, keeping only one chunk and one unfinished piece."""

from copy import copy
from hashlib import sha256
from typing import Self

from deemster.pipeline.judge.compare.difference import EXCERPT_BYTES, Position
from deemster.pipeline.judge.compare.splitter import Splitter

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
