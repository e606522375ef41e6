"""Chooses fingerprints of a program: hashes of sequences of symbols, by winnowing.

Schleimer, Wilkerson and Aiken: "Winnowing: Local Algorithms for Document Fingerprinting", 2003.
Two programs that share `SEQUENCE + WINDOW - 1` symbols in a row always share a fingerprint.
"""

import hashlib
from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Self

from deemster.pipeline.similarity.symbols import Symbol

ALGORITHM: Final = 1
"""Fingerprints of different algorithms cannot be compared: raise it with every change of
symbols or hashes."""
SEQUENCE: Final = 16
WINDOW: Final = 8
PRIME: Final = (1 << 61) - 1
BASE: Final = 1_000_003
OUTGOING: Final = pow(BASE, SEQUENCE, PRIME)


@dataclass(frozen=True, slots=True)
class Fingerprints:
    """Columns of the same length: one entry for each fingerprint, in the program's order."""

    hashes: "array[int]"
    places: "array[int]"
    """Number of the first symbol of its sequence, counted from 0 over all files."""
    files: "array[int]"
    first_lines: "array[int]"
    last_lines: "array[int]"

    def __len__(self) -> int:
        return len(self.hashes)

    def to_bytes(self) -> bytes:
        columns = (self.places, self.files, self.first_lines, self.last_lines)
        small = array("I", (value for column in columns for value in column))
        return self.hashes.tobytes() + small.tobytes()

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        count = len(content) // ENTRY_BYTES
        hashes, small = array("Q"), array("I")
        hashes.frombytes(content[: 8 * count])
        small.frombytes(content[8 * count :])
        columns = (small[part * count : (part + 1) * count] for part in range(4))
        return cls(hashes, *columns)


ENTRY_BYTES: Final = 8 + 4 * 4


def fingerprints_of(
    files: Sequence[Sequence[Symbol]], template: AbstractSet[int] = frozenset()
) -> Fingerprints:
    """Sequences whose hashes are in `template` are left out before fingerprints are chosen."""
    found = Fingerprints(array("Q"), array("I"), array("I"), array("I"), array("I"))
    first = 0
    for number, symbols in enumerate(files):
        for place, value in winnowed(sequence_hashes(symbols), template):
            found.hashes.append(value)
            found.places.append(first + place)
            found.files.append(number)
            found.first_lines.append(symbols[place].line)
            found.last_lines.append(symbols[place + SEQUENCE - 1].line)
        first += len(symbols) + SEQUENCE
    return found


def sequence_hashes(symbols: Sequence[Symbol]) -> list[int]:
    """Hashes of all sequences, in order: a rolling polynomial over hashes of the symbols."""
    values = [symbol_hash(symbol.text) for symbol in symbols]
    found = []
    rolling = 0
    for place, value in enumerate(values):
        rolling = (rolling * BASE + value) % PRIME
        if place >= SEQUENCE:
            rolling = (rolling - values[place - SEQUENCE] * OUTGOING) % PRIME
        if place >= SEQUENCE - 1:
            found.append(mixed(rolling))
    return found


def mixed(value: int) -> int:
    """Spreads the values: the smallest in a window must not depend on its last symbols only."""
    value ^= value >> 32
    value = (value * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
    return value ^ (value >> 29)


@lru_cache(maxsize=4096)
def symbol_hash(text: str) -> int:
    """The same in every process and on every machine, unlike `hash`."""
    digest = hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=7).digest()
    return int.from_bytes(digest, "big")


def winnowed(
    hashes: Iterable[int], template: AbstractSet[int] = frozenset()
) -> Iterator[tuple[int, int]]:
    """Yields place and value of the smallest hash of each window. Of equal ones, the one that
    was chosen before stays chosen, so that repeated code has few fingerprints.

    Sequences of the template end the windows around them.
    """
    window: deque[tuple[int, int]] = deque()
    begun, chosen = 0, -1
    for place, value in enumerate(hashes):
        if value in template:
            if window and window[0][0] != chosen:
                chosen = window[0][0]
                yield window[0]
            window.clear()
            begun = place + 1
            continue
        while window and window[-1][1] > value:
            window.pop()
        window.append((place, value))
        if window[0][0] <= place - WINDOW:
            window.popleft()
            while len(window) > 1 and window[1][1] == window[0][1]:
                window.popleft()
        if place - begun + 1 >= WINDOW and window[0][0] != chosen:
            chosen = window[0][0]
            yield window[0]
    if window and window[0][0] != chosen:
        yield window[0]
