"""Reads a request's JSON: never more of it than may be kept in memory (D3)."""

import asyncio
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request

from deemster.api.http.errors import TooLarge, TooSlow, WrongMedia, invalid_body
from deemster.domain.source import SOURCE_BYTES

BODY_BYTES: Final = SOURCE_BYTES * 4 // 3 + 64 * 1024
"""A source of the largest size in base64, and room for names."""
MOST_DIGITS: Final = 12
PATIENCE_S: Final = 30
"""For a whole body: long enough for a slow line, too short to hold a place for ever."""
MEDIA_TYPE: Final = "application/json"

M = TypeVar("M", bound=BaseModel)


async def read(request: Request, model: type[M], most_bytes: int = BODY_BYTES) -> M:
    """After the caller is known, so that nobody else can make us read at all."""
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != MEDIA_TYPE:
        raise WrongMedia("Send JSON, with the header Content-Type: application/json.")
    try:
        return model.model_validate_json(await read_capped(request, most_bytes))
    except ValidationError as fault:
        raise invalid_body(fault) from None


def body_of(model: type[BaseModel]) -> dict[str, Any]:
    """For the OpenAPI document, where a route reads its body by itself."""
    schema = {"$ref": f"#/components/schemas/{model.__name__}"}
    return {"requestBody": {"required": True, "content": {MEDIA_TYPE: {"schema": schema}}}}


async def read_capped(request: Request, most_bytes: int = BODY_BYTES) -> bytes:
    length = request.headers.get("content-length", "")
    if length.isdecimal() and (len(length) > MOST_DIGITS or int(length) > most_bytes):
        raise too_large(most_bytes)
    try:
        async with asyncio.timeout(PATIENCE_S):
            chunk, more = await next_chunk(request)
            if not more and len(chunk) <= most_bytes:
                return chunk  # as most are: in one piece
            body = bytearray(chunk)
            while more and len(body) <= most_bytes:
                chunk, more = await next_chunk(request)
                body += chunk
    except TimeoutError:
        raise TooSlow(f"The request took longer than {PATIENCE_S} s to arrive.") from None
    if len(body) > most_bytes:
        raise too_large(most_bytes)
    return bytes(body)


async def next_chunk(request: Request) -> tuple[bytes, bool]:
    """And whether there is more to come."""
    message = await request.receive()
    if message["type"] == "http.disconnect":
        raise ClientDisconnect
    return message.get("body", b""), message.get("more_body", False)


def too_large(most_bytes: int) -> TooLarge:
    return TooLarge(
        f"A request may have {most_bytes:,} bytes: send less. Where JSON makes a source much "
        "longer, send it as files with content_base64."
    )
