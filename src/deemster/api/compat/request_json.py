"""Reads JSON objects from requests to compatible APIs, and checks their values."""

import json
import math
from typing import Any, Final, TypeGuard

from starlette.requests import Request

from deemster.api.http.body import read_body
from deemster.api.http.errors import Malformed
from deemster.domain.errors import Refused

BODY_BYTES: Final = 32 << 20
Object = dict[str, Any]


async def read_object(request: Request, max_bytes: int = BODY_BYTES) -> Object:
    """Call it once the caller is known, so that nobody else can make the judge read a body."""
    return parse_object(await read_body(request, max_bytes))


def parse_object(body: bytes) -> Object:
    """Refuses text that can't be written as UTF-8, and numbers that are none."""
    try:
        found = json.loads(body, parse_constant=refuse_constant)
        if b"\\u" in body:
            json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise Malformed("The body is not valid JSON.") from None
    if not isinstance(found, dict):
        raise Malformed("The body is not a JSON object.")
    return found


def refuse_constant(name: str) -> float:
    raise ValueError(name)


def is_number(value: object) -> TypeGuard[int | float]:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def text_list(value: object, what: str) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise Refused(f"{what} must be an array of strings")
    return value
