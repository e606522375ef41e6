"""Random secrets of 80 bits that people can read from paper and type."""

import secrets
from typing import Final

from deemster.domain.ids import ALPHABET

CHARS: Final = 16
GROUP: Final = 4


def new_readable_secret() -> str:
    """Such as `k3mw-9xqt-27hb-vd5e`, in an alphabet without letters that look like digits."""
    text = "".join(secrets.choice(ALPHABET) for _ in range(CHARS))
    return "-".join(text[start : start + GROUP] for start in range(0, CHARS, GROUP))


def normalise_readable_secret(typed: str) -> str:
    """Accepts capital letters, and missing or additional dashes and spaces."""
    text = "".join(letter for letter in typed.lower() if letter not in "- ")
    return "-".join(text[start : start + GROUP] for start in range(0, len(text), GROUP))
