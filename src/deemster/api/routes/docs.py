"""`/docs`: the OpenAPI document as a page, with all that it is made of from here (A7).

A judge may stand in a network without the internet, and no other site's script has any
business where people are logged in.
"""

from importlib.resources import files
from typing import Final

from fastapi import APIRouter
from starlette.responses import HTMLResponse, Response

from deemster.domain.errors import NotFound

router = APIRouter(include_in_schema=False)
KEPT: Final = {"Cache-Control": "public, max-age=86400"}
PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Deemster API</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="icon" type="image/png" href="/docs/favicon-32x32.png">
</head>
<body>
<div id="swagger-ui"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
<noscript>This page needs JavaScript; the document itself is at /openapi.json.</noscript>
</body>
</html>
"""
START: Final = """SwaggerUIBundle({
    url: "/openapi.json",
    dom_id: "#swagger-ui",
    deepLinking: true,
    persistAuthorization: false,
    presets: [SwaggerUIBundle.presets.apis],
    layout: "BaseLayout",
});
"""
FOREIGN: Final = {
    "swagger-ui-bundle.js": "text/javascript",
    "swagger-ui.css": "text/css",
    "favicon-32x32.png": "image/png",
}
"""What the package brings; nothing else of it is served."""


@router.get("/docs")
async def page() -> Response:
    return HTMLResponse(PAGE)


@router.get("/docs/{name}")
async def part(name: str) -> Response:
    if name == "start.js":
        return Response(START, headers=KEPT, media_type="text/javascript")
    if name not in FOREIGN:
        raise NotFound("There is no such file: the page is at /docs.")
    content = files("fastapi_swagger.resources").joinpath(name).read_bytes()
    return Response(content, headers=KEPT, media_type=FOREIGN[name])
