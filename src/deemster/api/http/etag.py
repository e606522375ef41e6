"""ETags: a client that has the current version gets 304 (C3), or may replace it (E2)."""

import re
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from deemster.cache.cache import CacheEntry

REVALIDATE: Final = "private, max-age=0, must-revalidate"
"""The client may store the response, but must ask before each use whether it is current."""
MAX_TAGS: Final = 100
VERSION_ETAG: Final = re.compile(r'"v([0-9]{1,9})"')
NOT_MODIFIED: Final[dict[int | str, dict[str, Any]]] = {
    304: {"description": "The version named in If-None-Match is current"}
}
IF_MATCH: Final = {
    "name": "If-Match",
    "in": "header",
    "required": False,
    "description": "The ETag of the version that you change. If the object has another "
    "version by now, nothing is changed and the response is 412.",
    "schema": {"type": "string"},
}
IF_NONE_MATCH: Final = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "description": "The ETag of an earlier response. If it is current, the response is 304.",
    "schema": {"type": "string"},
}


def etag_response(request: Request, entry: CacheEntry) -> Response:
    """The caller must be allowed to see the entry."""
    assert entry.body is not None
    headers = {"ETag": entry.etag, "Cache-Control": REVALIDATE}
    if matches(request.headers.get("if-none-match"), entry.etag):
        return Response(status_code=304, headers=headers)
    return Response(entry.body, 200, headers, "application/json")


def matches(if_none_match: str | None, etag: str) -> bool:
    if if_none_match is None:
        return False
    tags = [each.strip().removeprefix("W/") for each in if_none_match.split(",", MAX_TAGS)]
    return etag in tags or tags == ["*"]


def version_etag(version: int) -> str:
    return f'"v{version}"'


def expected_versions(request: Request) -> list[int] | None:
    """The versions that If-Match allows; None: any. Unknown tags match no version."""
    header = request.headers.get("if-match")
    if header is None or header.strip() == "*":
        return None
    # A proxy that compresses responses marks their ETags as weak.
    tags = [each.strip().removeprefix("W/") for each in header.split(",", MAX_TAGS)]
    found = [VERSION_ETAG.fullmatch(each) for each in tags]
    return [int(each[1]) for each in found if each]
