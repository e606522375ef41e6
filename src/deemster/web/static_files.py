"""`/static`: style sheets and scripts, with names that change whenever their content does."""

import hashlib
from functools import cache
from importlib.resources import files
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from deemster.domain.errors import NotFound

PATH: Final = "/static/{name}"
FOR_EVER: Final = {"Cache-Control": "public, max-age=31536000, immutable"}
MEDIA_TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
DIGEST_CHARS: Final = 16


@cache
def contents() -> dict[str, bytes]:
    found = files("deemster.web").joinpath("static").iterdir()
    return {each.name: each.read_bytes() for each in found if each.is_file()}


@cache
def url_of(name: str) -> str:
    """The digest makes a browser fetch a file again after an update, and only then."""
    digest = hashlib.sha256(contents()[name]).hexdigest()[:DIGEST_CHARS]
    stem, dot, suffix = name.rpartition(".")
    return f"/static/{stem}.{digest}{dot}{suffix}"


@cache
def names() -> dict[str, str]:
    return {url_of(name).rpartition("/")[2]: name for name in contents()}


async def show_static_file(request: Request) -> Response:
    name = names().get(request.path_params["name"])
    if name is None:
        raise NotFound("There is no such file: reload the page.")
    media_type = MEDIA_TYPES[f".{name.rpartition('.')[2]}"]
    return Response(contents()[name], headers=FOR_EVER, media_type=media_type)
