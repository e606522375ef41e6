"""`/static`: style sheets and scripts, with names that change whenever their content does."""

import hashlib
import json
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from deemster.domain.errors import NotFound

PATH: Final = "/static/{name}"
FOR_EVER: Final = {"Cache-Control": "public, max-age=31536000, immutable"}
MEDIA_TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
DIGEST_CHARS: Final = 16
MANIFEST: Final = "manifest.json"
"""`islands/build.mjs` writes it: the built script of each page."""


@cache
def contents() -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in served("static")}


@cache
def built() -> dict[str, bytes]:
    """The bundled scripts, whose names contain a digest already."""
    return {each.name: each.read_bytes() for each in served("built")}


def served(directory: str) -> list[Traversable]:
    place = files("deemster.web").joinpath(directory)
    found = place.iterdir() if place.is_dir() else ()
    return [each for each in found if f".{each.name.rpartition('.')[2]}" in MEDIA_TYPES]


@cache
def url_of(name: str) -> str:
    """The digest makes a browser fetch a file again after an update, and only then."""
    digest = hashlib.sha256(contents()[name]).hexdigest()[:DIGEST_CHARS]
    stem, dot, suffix = name.rpartition(".")
    return f"/static/{stem}.{digest}{dot}{suffix}"


@cache
def script_url(page: str) -> str | None:
    """None if the scripts are not built: pages work without them."""
    manifest = files("deemster.web").joinpath("built", MANIFEST)
    if not manifest.is_file():
        return None
    return f"/static/{json.loads(manifest.read_bytes())[page]}"


@cache
def names() -> dict[str, str]:
    return {url_of(name).rpartition("/")[2]: name for name in contents()}


async def show_static_file(request: Request) -> Response:
    asked = request.path_params["name"]
    name = names().get(asked, asked)
    body = built().get(name) if name == asked else contents()[name]
    if body is None:
        raise NotFound("There is no such file: reload the page.")
    media_type = MEDIA_TYPES[f".{name.rpartition('.')[2]}"]
    return Response(body, headers=FOR_EVER, media_type=media_type)
