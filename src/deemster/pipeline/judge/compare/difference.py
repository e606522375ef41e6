"""Describes where an output first differs from the answer, in a text of limited length."""

from dataclasses import dataclass
from typing import BinaryIO

DIFFERS = "The output differs from the answer."
GOES_ON = "The output continues after the end of the answer."
ENDS_EARLY = "The output ends too early."

EXCERPT_BYTES = 200
LEAD_BYTES = 60
"""How much equal text an excerpt shows before the difference."""
LOOK_BACK_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Position:
    """A position in a stream; lines count from 1, bytes from 0."""

    line: int
    offset: int


@dataclass(frozen=True, slots=True)
class Difference:
    """Only for the jury, because it shows the expected output."""

    what: str
    """A sentence such as DIFFERS."""
    output: Position | None = None
    answer: Position | None = None
    """None if the order doesn't matter."""
    token: int | None = None
    """The number of the token in its line of the answer, from 1; None for lines."""
    expected: str = ""
    got: str = ""

    def __str__(self) -> str:
        lines = [self.what]
        if self.output is not None and self.answer is not None:
            token = f", token {self.token}" if self.token is not None else ""
            lines.append(
                f"Line {self.answer.line}{token} of the answer; "
                f"line {self.output.line}, byte {self.output.offset} of the output."
            )
        lines += [f"Expected: {self.expected}"] if self.expected else []
        lines += [f"Got: {self.got}"] if self.got else []
        return "\n".join(lines)


def excerpts(expected: bytes, got: bytes) -> tuple[str, str]:
    """Both start at the same byte, shortly before the difference."""
    start = max(0, common_length(expected, got) - LEAD_BYTES)
    return excerpt(expected, start), excerpt(got, start)


def excerpt(data: bytes, start: int = 0) -> str:
    shown = data[start : start + EXCERPT_BYTES]
    text = "".join(map(visible, shown.decode(errors="backslashreplace")))
    before = "…" if start and shown else ""
    after = "…" if start + EXCERPT_BYTES < len(data) else ""
    return f"{before}{text}{after}"


def visible(character: str) -> str:
    return character if character.isprintable() else repr(character)[1:-1]


def common_length(one: bytes, other: bytes) -> int:
    """A binary search, because comparing slices is much faster than single bytes."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def token_in_line(answer: BinaryIO, offset: int) -> int | None:
    """The number of the token that starts at the offset; None in a very long line."""
    start = max(0, offset - LOOK_BACK_BYTES)
    answer.seek(start)
    before = answer.read(offset - start)
    newline = before.rfind(b"\n")
    if newline < 0 and start:
        return None
    return len(before[newline + 1 :].split()) + 1
