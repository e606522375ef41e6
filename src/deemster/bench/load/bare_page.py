"""A FastAPI server that answers with a constant page: the bare minimum for a web page."""

import sys

import uvloop
from fastapi import FastAPI
from starlette.responses import HTMLResponse

from deemster.settings import load_settings
from deemster.wiring.api import serve
from deemster.wiring.process import die_with_parent

PAGE = "<!doctype html><title>Bare</title><p>Bare"


def make_app() -> FastAPI:
    app = FastAPI()

    @app.get("/healthz")
    async def live() -> dict[str, bool]:
        return {"alive": True}

    @app.get("/page")
    async def show() -> HTMLResponse:
        return HTMLResponse(PAGE)

    return app


if __name__ == "__main__":
    die_with_parent(int(sys.argv[1]))
    uvloop.run(serve(make_app(), load_settings()))
