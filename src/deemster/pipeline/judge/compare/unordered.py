"""Compares two streams as bags of words or lines: the same ones, as often, in any order.

Nothing is kept of a piece but its part in the sum of the hashes of all. They are salted with a
secret, so nobody can look for other pieces with the same sum; by chance 64 bits are enough.
"""

import secrets
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from deemster.pipeline.judge.compare.comparer import CHUNK_BYTES, Comparer
from deemster.pipeline.judge.compare.difference import Difference, excerpt
from deemster.pipeline.judge.compare.pieces import Kind
from deemster.pipeline.judge.compare.side import DIGEST_MARK, Side

SALT_BYTES = 16
KNOWN_BYTES = 1024 * 1024
"""Up to this size of a stream, the difference says which piece is too much or missing."""


class Bag:
    def __init__(self, kind: Kind, salt: bytes) -> None:
        self.count = 0
        self.total = 0
        self.known: Counter[bytes] | None = Counter()
        """All pieces, while there are few."""
        self._known_bytes = 0
        self._salted = salt.__add__
        self._is_token = kind.is_token

    def add(self, pieces: list[bytes]) -> None:
        pieces = pieces if self._is_token else normal_lines(pieces)
        self.count += len(pieces)
        self.total += sum(map(hash, map(self._salted, pieces)))
        self._known_bytes += sum(map(len, pieces))
        if self._known_bytes > KNOWN_BYTES:
            self.known = None
        elif self.known is not None:
            self.known.update(pieces)


def normal_lines(lines: Iterable[bytes]) -> list[bytes]:
    """As DMOJ's checker does: blank lines and the amount of white space don't matter.

    In lines of which only a digest is left it does.
    """
    kept = (line if line.startswith(DIGEST_MARK) else b" ".join(line.split()) for line in lines)
    return [line for line in kept if line]


def shown(pieces: Iterable[bytes]) -> str:
    """The first that can be shown."""
    return excerpt(next((each for each in pieces if not each.startswith(DIGEST_MARK)), b""))


class UnorderedComparer(Comparer):
    def __init__(self, answer: Path, kind: Kind) -> None:
        super().__init__(answer)
        salt = secrets.token_bytes(SALT_BYTES)
        self._kind = kind
        self._noun = "tokens" if kind.is_token else "lines"
        self._output, self._output_bag = Side(kind), Bag(kind, salt)
        self._expected, self._expected_bag = Side(kind), Bag(kind, salt)
        self._in_step = True
        """Both streams are the same so far, and left out of the bags."""

    def _take(self, chunk: bytes) -> None:
        # As much of the answer as of the output, so that little is left to the end.
        expected = self._answer.read(len(chunk))
        if self._in_step and self._kind.equal(expected, chunk):
            self._output.skip(chunk)
            return
        self._fall_out_of_step()
        self._output.take(chunk)
        self._output_bag.add(self._output.pieces)
        self._take_answer(expected)

    def _fall_out_of_step(self) -> None:
        if self._in_step:
            self._in_step = False
            self._expected = self._output.copy()

    def _take_answer(self, chunk: bytes) -> None:
        if chunk:
            self._expected.take(chunk)
            self._expected_bag.add(self._expected.pieces)

    def _end(self) -> None:
        self._fall_out_of_step()
        while chunk := self._answer.read(CHUNK_BYTES):
            self._take_answer(chunk)
        for side, bag in (
            (self._output, self._output_bag),
            (self._expected, self._expected_bag),
        ):
            side.end()
            bag.add(side.pieces)
        output, expected = self._output_bag, self._expected_bag
        if (output.count, output.total) != (expected.count, expected.total):
            self.difference = self._explain()

    def _explain(self) -> Difference:
        output, expected = self._output_bag, self._expected_bag
        count = expected.count - output.count
        what = f"The output has other {self._noun} than the answer, though as many."
        if count:
            word = "fewer" if count > 0 else "more"
            what = f"The output has {abs(count)} {self._noun} {word} than the answer."
        missing = extra = ""
        if output.known is not None and expected.known is not None:
            missing = shown(expected.known - output.known)
            extra = shown(output.known - expected.known)
        return Difference(what, expected=missing, got=extra)
