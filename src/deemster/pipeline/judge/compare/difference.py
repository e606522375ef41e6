"""Where an output first differs from the expected one, in words of bounded length."""

from dataclasses import dataclass
from typing import BinaryIO

DIFFERS = "The output differs from the answer."
GOES_ON = "The output goes on after the end of the answer."
ENDS_EARLY = "The output ends too early."

EXCERPT_BYTES = 200
LEAD_BYTES = 60
"""How much of what is still equal an excerpt shows before the difference."""
LOOK_BACK_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a stream; lines count from 1, bytes from 0."""

    line: int
    offset: int


@dataclass(frozen=True, slots=True)
class Difference:
    """For the jury: it shows the expected output."""

    what: str
    """What kind of difference it is, as a sentence."""
    output: Position | None = None
    answer: Position | None = None
    """None where the order doesn't matter."""
    token: int | None = None
    """Which token of its line in the answer it is, from 1; None where lines are compared."""
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
    """Both from the same byte on, so that a long common beginning doesn't hide the rest."""
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
    """By halving: comparing slices is much faster than comparing bytes one by one."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def token_in_line(answer: BinaryIO, offset: int) -> int | None:
    """Which token of its line begins at the offset; None in a very long line."""
    start = max(0, offset - LOOK_BACK_BYTES)
    answer.seek(start)
    before = answer.read(offset - start)
    newline = before.rfind(b"\n")
    if newline < 0 and start:
        return None
    return len(before[newline + 1 :].split()) + 1
