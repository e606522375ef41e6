"""Writes the difference of two texts in the unified format, in bounded time."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, Literal

MAX_LINES: Final = 1000
"""Comparing takes up to the square of this. A change of more lines is shown as a whole."""
NO_NEWLINE: Final = "\n\\ No newline at end of file\n"

Tag = Literal["replace", "delete", "insert", "equal"]
OpCode = tuple[Tag, int, int, int, int]
"""As difflib has it: what to do with lines `[1]` to `[2]` of one text and `[3]` to `[4]`."""
Group = Sequence[tuple[str, int, int, int, int]]


class GroupedOperations(SequenceMatcher[str]):
    """Groups the operations that were found into hunks."""

    def __init__(self, found: list[OpCode]) -> None:
        super().__init__()
        self._found = found

    def get_opcodes(self) -> list[OpCode]:
        return self._found


def unified_diff(old: str, new: str, old_name: str, new_name: str) -> str:
    """Returns an empty text if both texts are equal."""
    if old == new:
        return ""
    before, after = lines_of(old), lines_of(new)
    parts = [f"--- {old_name}\n", f"+++ {new_name}\n"]
    for group in GroupedOperations(compare(before, after)).get_grouped_opcodes():
        parts += hunk(before, after, group)
    return "".join(parts)


def lines_of(text: str) -> list[str]:
    """Only a line feed ends a line, as for `diff` and compilers."""
    lines = text.split("\n")
    ended = [f"{line}\n" for line in lines[:-1]]
    return ended + ([lines[-1] + NO_NEWLINE] if lines[-1] else [])


def compare(before: Sequence[str], after: Sequence[str]) -> list[OpCode]:
    """Compares only what lies between the first and the last line that differ."""
    shorter = min(len(before), len(after))
    start = next((i for i in range(shorter) if before[i] != after[i]), shorter)
    rest = shorter - start
    end = next((i for i in range(rest) if before[-1 - i] != after[-1 - i]), rest)
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    found: list[OpCode] = []
    if start:
        found.append(("equal", 0, start, 0, start))
    if max(len(old), len(new)) > MAX_LINES:
        changes: Sequence[OpCode] = [("replace", 0, len(old), 0, len(new))]
    else:
        changes = SequenceMatcher(None, old, new).get_opcodes()
    found += [(tag, a + start, b + start, c + start, d + start) for tag, a, b, c, d in changes]
    if end:
        found.append(("equal", len(before) - end, len(before), len(after) - end, len(after)))
    return found


def hunk(
    before: Sequence[str], after: Sequence[str], group: Sequence[tuple[str, int, int, int, int]]
) -> Iterator[str]:
    _, first_old, _, first_new, _ = group[0]
    _, _, last_old, _, last_new = group[-1]
    yield f"@@ -{extent(first_old, last_old)} +{extent(first_new, last_new)} @@\n"
    for tag, old_start, old_end, new_start, new_end in group:
        if tag == "equal":
            yield from (" " + line for line in before[old_start:old_end])
            continue
        yield from ("-" + line for line in before[old_start:old_end])
        yield from ("+" + line for line in after[new_start:new_end])


def extent(start: int, end: int) -> str:
    """The first line and the number of lines; an empty one names the line before it."""
    count = end - start
    if count == 1:
        return str(start + 1)
    return f"{start + 1 if count else start},{count}"
