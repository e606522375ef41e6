"""Describes in words the regular expressions of fields, for error messages."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import StringConstraints

WORDS: Final[dict[str, str]] = {}
"""What each pattern asks for: a request that continues 'is not valid: '."""
OTHER_CHARACTERS: Final = "it has characters that are not allowed here"

ONE_LINE: Final = r"^[^\x00-\x1f\x7f]*$"
NO_NUL: Final = r"^[^\x00]*$"
ID: Final = r"^[A-Za-z0-9_.-]+$"
FORMS: Final = {
    ONE_LINE: "use one line of text, without control characters",
    NO_NUL: "use text without the character NUL",
    ID: "use letters, digits, dots, dashes and underscores",
}
"""The patterns that several models share, in words."""


def text_form(
    pattern: str,
    words: str = "",
    *,
    min_length: int | None = None,
    max_length: int | None = None,
    strip_whitespace: bool | None = None,
    to_lower: bool | None = None,
) -> StringConstraints:
    """Constraints of a text; a pattern of `FORMS` needs no words."""
    WORDS[pattern] = words or FORMS[pattern]
    return StringConstraints(
        pattern=pattern,
        min_length=min_length,
        max_length=max_length,
        strip_whitespace=strip_whitespace,
        to_lower=to_lower,
    )


def fault_text(error: Mapping[str, Any]) -> str:
    """Returns the message of an error that pydantic found in a value."""
    if error["type"] == "string_pattern_mismatch":
        return WORDS.get(error["ctx"]["pattern"], OTHER_CHARACTERS)
    return str(error["msg"]).removeprefix("Value error, ")
