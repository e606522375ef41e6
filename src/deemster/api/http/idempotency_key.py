"""The header by which a client may send a request twice and have it done once (I1)."""

from typing import Any, Final

from starlette.requests import Request

from deemster.api.http.errors import FieldFault, Invalid

HEADER: Final = "Idempotency-Key"
MOST_LETTERS: Final = 255
IDEMPOTENCY_KEY: Final[dict[str, Any]] = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "description": "The same key with the same request gets the same answer, done once.",
    "schema": {"type": "string", "minLength": 1, "maxLength": MOST_LETTERS},
}


def idempotency_key(request: Request) -> str | None:
    key = request.headers.get(HEADER)
    if key is not None and not 1 <= len(key) <= MOST_LETTERS:
        raise Invalid([FieldFault(HEADER, f"it has 1 to {MOST_LETTERS} characters")])
    return key
