"""Compares versions with ranges as npm writes them: `*`, `3`, `3.x`, `^3.1`, `>=3.10 <4`."""

import re
from collections.abc import Iterator
from typing import Final

Version = tuple[int, int, int]
Bound = tuple[str, Version]

FIRST: Final[Version] = (0, 0, 0)
NUMBERS: Final = re.compile(r"\d{1,9}(?:\.\d{1,9}){0,2}")
COMPARATOR: Final = re.compile(
    r"(?P<operator>\^|~>?|>=|<=|>|<|=)?\s*v?(?P<parts>(?:\d{1,9}|[xX*])(?:\.(?:\d{1,9}|[xX*])){0,2})"
    r"(?:[-+][0-9A-Za-z.+-]*)?(?:\s+|$)"
)
HYPHEN: Final = re.compile(r"(\S+)\s+-\s+(\S+)")
MAX_RANGE_CHARS: Final = 256


def version_in(text: str) -> Version | None:
    """The first version in a text, such as 12.2.0 in `GCC 12.2.0 (Debian)`."""
    found = NUMBERS.search(text)
    return padded([int(part) for part in found[0].split(".")]) if found else None


def satisfies(version: Version, wanted: str) -> bool:
    """False also for a range that is not valid."""
    if len(wanted) > MAX_RANGE_CHARS:
        return False
    return any(meets_all(version, each.strip()) for each in wanted.split("||"))


def meets_all(version: Version, comparators: str) -> bool:
    hyphen = HYPHEN.fullmatch(comparators)
    if hyphen:
        comparators = f">={hyphen[1]} <={hyphen[2]}"
    at = 0
    while at < len(comparators):
        found = COMPARATOR.match(comparators, at)
        if not found:
            return False
        if not all(holds(version, *bound) for bound in bounds(found)):
            return False
        at = found.end()
    return True


def bounds(comparator: re.Match[str]) -> Iterator[Bound]:
    operator = comparator["operator"] or "="
    parts: list[int] = []
    for part in comparator["parts"].split("."):
        if not part.isdecimal():
            break
        parts.append(int(part))
    low = padded(parts)
    if not parts:
        if operator in {"<", ">"}:
            yield "<", FIRST  # nothing is above or below all versions
    elif operator == "^":
        # The first part that is not zero stays; of 0 and 0.0 all given parts stay.
        stays = next((at for at, part in enumerate(parts) if part), len(parts) - 1)
        yield from between(low, parts, stays)
    elif operator.startswith("~"):
        yield from between(low, parts, min(len(parts) - 1, 1))
    elif operator == "=":
        yield from between(low, parts, len(parts) - 1)
    elif operator in {">", "<="} and len(parts) < 3:
        above = after(parts, len(parts) - 1)
        yield (">=", above) if operator == ">" else ("<", above)
    else:
        yield operator, low


def between(low: Version, parts: list[int], stays: int) -> Iterator[Bound]:
    yield ">=", low
    yield "<", after(parts, stays)


def after(parts: list[int], stays: int) -> Version:
    """The first version with a higher number at that place."""
    return padded([*parts[:stays], parts[stays] + 1])


def padded(parts: list[int]) -> Version:
    first, second, third = [*parts, 0, 0, 0][:3]
    return first, second, third


def holds(version: Version, operator: str, bound: Version) -> bool:
    return {
        ">=": version >= bound,
        "<=": version <= bound,
        ">": version > bound,
        "<": version < bound,
    }[operator]
