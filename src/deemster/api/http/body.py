"""JSON bodies: reads those of requests up to a maximum size (D3), and writes responses."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from deemster.api.http.errors import TooLarge, TooSlow, WrongMedia, invalid_body
from deemster.domain.source import SOURCE_BYTES

BODY_BYTES: Final = SOURCE_BYTES * 4 // 3 + 64 * 1024
"""The largest source in base64, and room for the other fields."""
MAX_LENGTH_DIGITS: Final = 12
BODY_TIMEOUT_S: Final = 30
"""For a whole body: enough for a slow line, but a client can't hold a connection for ever."""
MEDIA_TYPE: Final = "application/json"

M = TypeVar("M", bound=BaseModel)


async def read_json(request: Request, model: type[M], max_bytes: int = BODY_BYTES) -> M:
    """Call it once the caller is known, so that nobody else can make the judge read a body."""
    check_media_type(media_type_of(request))
    return parse_json(await read_body(request, max_bytes), model)


def media_type_of(request: Request) -> str:
    """Without parameters such as the character set."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def check_media_type(content_type: str) -> None:
    if content_type.partition(";")[0].strip().lower() != MEDIA_TYPE:
        raise WrongMedia("Send JSON, with the header Content-Type: application/json.")


def parse_json(body: bytes, model: type[M]) -> M:
    try:
        return model.model_validate_json(body)
    except ValidationError as fault:
        raise invalid_body(fault) from None


async def read_body(request: Request, max_bytes: int = BODY_BYTES) -> bytes:
    if announces_more_than(request, max_bytes):
        raise too_large(max_bytes)
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            chunk, more = await next_chunk(request)
            if not more and len(chunk) <= max_bytes:
                return chunk  # most bodies come in one piece
            body = bytearray(chunk)
            while more and len(body) <= max_bytes:
                chunk, more = await next_chunk(request)
                body += chunk
    except TimeoutError:
        raise TooSlow(f"The request took longer than {BODY_TIMEOUT_S} s to arrive.") from None
    if len(body) > max_bytes:
        raise too_large(max_bytes)
    return bytes(body)


def announces_more_than(request: Request, max_bytes: int) -> bool:
    length = request.headers.get("content-length", "")
    return length.isdecimal() and (len(length) > MAX_LENGTH_DIGITS or int(length) > max_bytes)


async def next_chunk(request: Request) -> tuple[bytes, bool]:
    """Returns the chunk, and whether more will follow."""
    message = await request.receive()
    if message["type"] == "http.disconnect":
        raise ClientDisconnect
    return message.get("body", b""), message.get("more_body", False)


def too_large(max_bytes: int) -> TooLarge:
    return TooLarge(
        f"The request has more than {max_bytes:,} bytes: send less. If JSON makes a source "
        "much longer, send it as files with content_base64."
    )


def request_body(model: type[BaseModel]) -> dict[str, Any]:
    """Documents the body of a route that reads it itself."""
    schema = {"$ref": f"#/components/schemas/{model.__name__}"}
    return {"requestBody": {"required": True, "content": {MEDIA_TYPE: {"schema": schema}}}}


def json_response(
    model: BaseModel, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    return Response(to_json(model), status, headers, MEDIA_TYPE)


def to_json(model: BaseModel) -> bytes:
    """Leaves out fields that were not set."""
    return model.model_dump_json(exclude_unset=True).encode()
