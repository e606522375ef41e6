"""Parses the flags of the default output validator."""

import math
from collections.abc import Sequence
from dataclasses import replace

from deemster.domain.problem import Compare, Comparison
from deemster.problems.formats.yaml_file import key_error

DEFAULT = Comparison(mode=Compare.TOKENS, case_sensitive=False)
TOLERANCES = {
    "float_tolerance": ("absolute", "relative"),
    "float_absolute_tolerance": ("absolute",),
    "float_relative_tolerance": ("relative",),
}
SWITCHES = ("case_sensitive", "space_change_sensitive")


def comparison(flags: Sequence[str], file: str, key: str, *, once: bool) -> Comparison:
    """`once`: a second tolerance is refused (2025-09); else the last one counts."""
    found = DEFAULT
    given: set[str] = set()
    words = iter(flags)
    for word in words:
        if word in SWITCHES:
            found = with_switch(found, word)
        elif word in TOLERANCES:
            value = tolerance(word, next(words, None), file, key)
            sides = TOLERANCES[word]
            if once and given.intersection(sides):
                raise key_error(file, key, f"gives a tolerance twice ({word}): keep one.")
            given.update(sides)
            found = with_tolerance(found, sides, value)
        else:
            raise key_error(
                file,
                key,
                f"has '{word}', which the default output validator doesn't know: use "
                f"{', '.join((*SWITCHES, *TOLERANCES))}.",
            )
    return found


def with_switch(found: Comparison, word: str) -> Comparison:
    if word == "case_sensitive":
        return replace(found, case_sensitive=True)
    return replace(found, space_sensitive=True)


def with_tolerance(found: Comparison, sides: Sequence[str], value: float) -> Comparison:
    return replace(
        found,
        absolute=value if "absolute" in sides else found.absolute,
        relative=value if "relative" in sides else found.relative,
    )


def tolerance(word: str, text: str | None, file: str, key: str) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        said = "nothing" if text is None else f"'{text}'"
        raise key_error(file, key, f"needs a number after {word}, not {said}.")
    return value
