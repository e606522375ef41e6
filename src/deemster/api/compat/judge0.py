"""The API of Judge0 v1.13.1 as a translation to executions."""

from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from deemster.api.authentication import BEARER
from deemster.api.http.direct_route import DirectRoute
from deemster.api.permissions import JUDGE0_PREFIXES

VERSION: Final = "1.13.1"
"""Clients choose language ids by this version."""

STATUSES: Final = {
    1: "In Queue",
    2: "Processing",
    3: "Accepted",
    4: "Wrong Answer",
    5: "Time Limit Exceeded",
    6: "Compilation Error",
    7: "Runtime Error (SIGSEGV)",
    8: "Runtime Error (SIGXFSZ)",
    9: "Runtime Error (SIGFPE)",
    10: "Runtime Error (SIGABRT)",
    11: "Runtime Error (NZEC)",
    12: "Runtime Error (Other)",
    13: "Internal Error",
    14: "Exec Format Error",
}


async def about(request: Request) -> Response:
    extra = "-extra" if request.url.path.startswith("/judge0/extra/") else ""
    return JSONResponse({"version": VERSION + extra})


async def statuses(request: Request) -> Response:
    await BEARER(request)
    return JSONResponse(
        [{"id": number, "description": text} for number, text in STATUSES.items()]
    )


routes: Final[list[BaseRoute]] = [
    DirectRoute(prefix + path, endpoint, methods=["GET"])
    for prefix in JUDGE0_PREFIXES
    for path, endpoint in (("/about", about), ("/statuses", statuses))
]
