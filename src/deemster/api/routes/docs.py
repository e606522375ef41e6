"""`/docs`: the OpenAPI document as a page; all its files come from this server (A7)."""

from importlib.resources import files
from typing import Final

from fastapi import APIRouter
from starlette.responses import HTMLResponse, Response

from deemster.domain.errors import NotFound

router = APIRouter(include_in_schema=False)
CACHED: Final = {"Cache-Control": "public, max-age=86400"}
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
SWAGGER_FILES: Final = {
    "swagger-ui-bundle.js": "text/javascript",
    "swagger-ui.css": "text/css",
    "favicon-32x32.png": "image/png",
}
"""The only files of the package that are served: a judge may have no internet access."""


@router.get("/docs")
async def show_docs() -> Response:
    return HTMLResponse(PAGE)


@router.get("/docs/{name}")
async def show_docs_file(name: str) -> Response:
    if name == "start.js":
        return Response(START, headers=CACHED, media_type="text/javascript")
    if name not in SWAGGER_FILES:
        raise NotFound("The documentation has no such file: open /docs.")
    content = files("fastapi_swagger.resources").joinpath(name).read_bytes()
    return Response(content, headers=CACHED, media_type=SWAGGER_FILES[name])
