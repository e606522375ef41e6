"""Compares the words or lines of an output with those of the answer in any order."""

import secrets
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from deemster.pipeline.judge.compare.comparer import CHUNK_BYTES, Comparer
from deemster.pipeline.judge.compare.difference import Difference, excerpt
from deemster.pipeline.judge.compare.split_stream import DIGEST_MARK, SplitStream, Splitter

SALT_BYTES = 16
KNOWN_BYTES = 1024 * 1024
"""Up to this size, a difference names a missing or an extra piece."""


class Multiset:
    """Keeps only the sum of the hashes of all pieces.

    A secret salt keeps submissions from searching for other pieces with the same sum; against
    chance 64 bits are enough.
    """

    def __init__(self, splitter: Splitter, salt: bytes) -> None:
        self.count = 0
        self.total = 0
        self.known: Counter[bytes] | None = Counter()
        """All pieces; None if there are too many."""
        self._known_bytes = 0
        self._salted = salt.__add__
        self._is_token = splitter.is_token

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
    """Ignores blank lines and the amount of white space, as DMOJ's checker does.

    White space counts in lines that are replaced by their digest.
    """
    kept = (line if line.startswith(DIGEST_MARK) else b" ".join(line.split()) for line in lines)
    return [line for line in kept if line]


def first_excerpt(pieces: Iterable[bytes]) -> str:
    return excerpt(next((each for each in pieces if not each.startswith(DIGEST_MARK)), b""))


class UnorderedComparer(Comparer):
    def __init__(self, answer: Path, splitter: Splitter) -> None:
        super().__init__(answer)
        salt = secrets.token_bytes(SALT_BYTES)
        self._splitter = splitter
        self._noun = "tokens" if splitter.is_token else "lines"
        self._output, self._output_pieces = SplitStream(splitter), Multiset(splitter, salt)
        self._expected, self._expected_pieces = SplitStream(splitter), Multiset(splitter, salt)
        self._identical = True
        """While both streams have the same bytes, their pieces are not counted."""

    def _take(self, chunk: bytes) -> None:
        # Reads as much of the answer as of the output, so that little is left for the end.
        expected = self._answer.read(len(chunk))
        if self._identical and self._splitter.equal(expected, chunk):
            self._output.skip(chunk)
            return
        self._start_splitting()
        self._output.take(chunk)
        self._output_pieces.add(self._output.pieces)
        self._take_answer(expected)

    def _start_splitting(self) -> None:
        if self._identical:
            self._identical = False
            self._expected = self._output.copy()

    def _take_answer(self, chunk: bytes) -> None:
        if chunk:
            self._expected.take(chunk)
            self._expected_pieces.add(self._expected.pieces)

    def _end(self) -> None:
        self._start_splitting()
        while chunk := self._answer.read(CHUNK_BYTES):
            self._take_answer(chunk)
        for stream, pieces in (
            (self._output, self._output_pieces),
            (self._expected, self._expected_pieces),
        ):
            stream.end()
            pieces.add(stream.pieces)
        output, expected = self._output_pieces, self._expected_pieces
        if (output.count, output.total) != (expected.count, expected.total):
            self.difference = self._explain()

    def _explain(self) -> Difference:
        output, expected = self._output_pieces, self._expected_pieces
        count = expected.count - output.count
        what = f"The output has as many {self._noun} as the answer, but different ones."
        if count:
            word = "fewer" if count > 0 else "more"
            what = f"The output has {abs(count)} {self._noun} {word} than the answer."
        missing = extra = ""
        if output.known is not None and expected.known is not None:
            missing = first_excerpt(expected.known - output.known)
            extra = first_excerpt(output.known - expected.known)
        return Difference(what, expected=missing, got=extra)
