"""Answers with an ETag: who has one already hears only that it holds (C3)."""

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from deemster.cache.cache import CacheEntry

ASK_AGAIN: Final = "private, max-age=0, must-revalidate"
"""Kept by the client alone, and used only after asking whether it still holds."""
MOST_TAGS: Final = 100
UNCHANGED: Final[dict[int | str, dict[str, Any]]] = {
    304: {"description": "As you have it already, by the ETag in If-None-Match"}
}
IF_NONE_MATCH: Final = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "description": "The ETag of an earlier answer; 304 if it still holds.",
    "schema": {"type": "string"},
}


def tagged(request: Request, entry: CacheEntry) -> Response:
    """For who was found to be allowed to see it."""
    assert entry.body is not None
    headers = {"ETag": entry.etag, "Cache-Control": ASK_AGAIN}
    if holds(request.headers.get("if-none-match"), entry.etag):
        return Response(status_code=304, headers=headers)
    return Response(entry.body, 200, headers, "application/json")


def holds(given: str | None, etag: str) -> bool:
    if given is None:
        return False
    tags = [each.strip().removeprefix("W/") for each in given.split(",", MOST_TAGS)]
    return etag in tags or tags == ["*"]
