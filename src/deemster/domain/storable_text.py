"""Replaces what Postgres cannot store in texts and JSON: NUL and lone surrogates."""

from typing import Any


def storable(value: Any) -> Any:
    """The same text, or the same JSON with such texts in it."""
    if isinstance(value, str):
        if value.isascii() and "\0" not in value:
            return value
        return (
            value.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()
        )
    if isinstance(value, dict):
        return {storable(name): storable(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [storable(each) for each in value]
    return value
