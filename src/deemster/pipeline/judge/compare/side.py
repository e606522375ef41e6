"""One of the two streams, in pieces: no more of it in memory than a chunk and a begun piece.

Of a piece with more than LONGEST_PIECE_BYTES only a digest is kept. Pieces are equal when what
they stand for is equal, however the streams came in chunks.
"""

from copy import copy
from hashlib import sha256
from typing import Self

from deemster.pipeline.judge.compare.difference import EXCERPT_BYTES, Position
from deemster.pipeline.judge.compare.pieces import Kind

LONGEST_PIECE_BYTES = 1024 * 1024
DIGEST_MARK = b"\n\0"
"""No word, gap or line begins so."""


class LongPiece:
    """A piece that is too long to be kept."""

    def __init__(self, kind: Kind, place: Position, begun: bytes) -> None:
        self.place = place
        self.head = begun[:EXCERPT_BYTES]
        self._kind = kind
        self._all = sha256()
        self._trimmed = self._all.copy()
        self._short: bytes | None = None
        self.add(begun)
        trimmed = kind.trim(kind.folded(begun))
        if len(trimmed) <= LONGEST_PIECE_BYTES:  # so far, all too much is space at its end
            self._short = trimmed

    def add(self, data: bytes) -> None:
        data = self._kind.folded(data)
        trimmed = self._kind.trim(data)
        if trimmed:
            self._short = None
            self._all.update(trimmed)
            self._trimmed = self._all.copy()
        self._all.update(data[len(trimmed) :])

    def close(self) -> bytes:
        return DIGEST_MARK + self._trimmed.digest() if self._short is None else self._short

    def copy(self) -> Self:
        twin = copy(self)
        twin.__dict__["_all"] = self._all.copy()
        return twin


class Side:
    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.pieces: list[bytes] = []
        """Of the data taken last."""
        self.index = 0
        """How many of them are done with."""
        self._line = 1
        self._offset = 0
        self._data = b""
        self._begun_bytes = 0
        """How much of the data, at its end, is a piece that may go on in the next chunk."""
        self._long: LongPiece | None = None
        self._ended: LongPiece | None = None
        """The first of the pieces, a long one that ended in the data, before `_cut_from`."""
        self._cut_from = 0

    def take(self, chunk: bytes) -> None:
        """The next chunk; the pieces before it must be done with."""
        self._data = self._leave() + chunk
        if self._ended is not None:
            end = self.kind.end(chunk, self._ended.head)
            self._ended.add(chunk[:end])
            if end == len(chunk):
                self._long, self._ended = self._ended, None
                return
            self._cut_from = end + self.kind.separator_bytes
        self.pieces, begun = self.kind.cut(self.kind.folded(self._data[self._cut_from :]))
        if self._ended is not None:
            self.pieces.insert(0, self._ended.close())
        elif self.pieces:  # all others lie within the chunk
            self.pieces[0] = shortened(self.pieces[0])
        self._begin(len(begun))

    def skip(self, chunk: bytes) -> None:
        """The same where both sides get the same bytes: nobody will look at these pieces.

        Nor does what a long piece begins with matter then, so it isn't digested.
        """
        self._data = self._leave() + chunk
        if self._ended is not None and self.kind.end(chunk, self._ended.head) == len(chunk):
            self._long, self._ended = self._ended, None
            return
        self._ended = None
        self._begin(len(self.kind.last(self._data)))

    def end(self) -> None:
        """There is no further chunk: what has begun is a whole piece."""
        begun = self._leave()
        self._data = begun
        if self._ended is not None:
            self.pieces = [self._ended.close()]
        elif begun:
            self.pieces = [shortened(self.kind.trim(self.kind.folded(begun)))]

    def copy(self) -> Self:
        twin = copy(self)
        twin.__dict__["_long"] = self._long and self._long.copy()
        return twin

    def here(self) -> Position:
        return self._place(len(self._data))

    def locate(self, index: int) -> tuple[Position, bytes]:
        """Where a piece stands in the stream, and its text or the beginning of that."""
        if self._ended is not None:
            if index == 0:
                return self._ended.place, self._ended.head
            index -= 1
        start, end = self.kind.find(self._data[self._cut_from :], index)
        text = self._data[self._cut_from + start : self._cut_from + end]
        return self._place(self._cut_from + start), text

    def _place(self, position: int) -> Position:
        line = self._line + self._data.count(b"\n", 0, position)
        return Position(line, self._offset + position)

    def _begin(self, begun_bytes: int) -> None:
        """At the end of the data a piece has begun."""
        if begun_bytes <= LONGEST_PIECE_BYTES:
            self._begun_bytes = begun_bytes
            return
        start = len(self._data) - begun_bytes
        self._long = LongPiece(self.kind, self._place(start), self._data[start:])

    def _leave(self) -> bytes:
        """Goes past the data, but for a piece that has begun there."""
        left = len(self._data) - self._begun_bytes
        begun = self._data[left:]
        self._line += self._data.count(b"\n", 0, left)
        self._offset += left
        self._data = b""
        self._begun_bytes = 0
        self.pieces = []
        self.index = 0
        self._ended, self._long = self._long, None
        self._cut_from = 0
        return begun


def shortened(piece: bytes) -> bytes:
    if len(piece) <= LONGEST_PIECE_BYTES:
        return piece
    return DIGEST_MARK + sha256(piece).digest()
