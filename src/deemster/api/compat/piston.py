"""The API of Piston v2 over HTTP, as a translation to executions."""

import math
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from deemster.api.app_state import app_state
from deemster.api.authentication import BEARER
from deemster.api.compat import piston_socket, piston_stages
from deemster.api.compat.bearer_token import with_bearer
from deemster.api.compat.error_answers import answering_errors
from deemster.api.compat.piston_request import check_fields, execute_request
from deemster.api.compat.piston_runtimes import find_runtime, list_runtimes
from deemster.api.compat.request_json import Object, read_object
from deemster.api.compat.run_to_end import QUEUE_S, output_in_order, run_to_end
from deemster.api.http.direct_route import DirectRoute
from deemster.api.http.errors import Overloaded, WrongMedia, kind_of
from deemster.api.permissions import METHODS, OTHER_PATHS, PISTON_PREFIXES
from deemster.domain.account import Account
from deemster.domain.errors import DeemsterError, LimitReached, Refused, Unavailable

PACKAGES: Final = (
    "This server installs no packages: its operator installs languages on the workers."
)


async def runtimes(request: Request) -> Response:
    await caller_of(request)
    found = await list_runtimes(app_state(request))
    return JSONResponse([each.summary() for each in found])


async def packages(request: Request) -> Response:
    await caller_of(request)
    found = await list_runtimes(app_state(request))
    return JSONResponse(
        [
            {
                "language": each.name,
                "language_version": each.written_version,
                "installed": True,
            }
            for each in found
        ]
    )


async def change_packages(request: Request) -> Response:
    await caller_of(request)
    check_media_type(request)
    raise Refused(PACKAGES)


async def unknown_path(_request: Request) -> Response:
    return JSONResponse({"message": "Not Found"}, 404)


async def execute(request: Request) -> Response:
    caller = await caller_of(request)
    check_media_type(request)
    state = app_state(request)
    body = await read_object(request)
    check_fields(body)
    runtime = await find_runtime(state, body["language"], body["version"])
    language = runtime.language
    asked = execute_request(state.executions.accept, language, body)
    compile_ms = asked.options.compile_wall_ms or 0
    wait_s = (compile_ms + asked.limits.wall_ms) / 1000 + QUEUE_S
    shown = await run_to_end(request, caller, asked, wait_s)
    if shown is None:
        raise Overloaded("The program did not get its turn: too many others are waiting.")
    output = await output_in_order(state, shown.view.id)
    answer: Object = {"language": runtime.name, "version": runtime.written_version}
    compiled = piston_stages.compile_stage(language, shown.view)
    if compiled is not None:
        answer["compile"] = compiled
    return JSONResponse(
        {**answer, "run": piston_stages.run_stage(language, shown, output, compiled)}
    )


def check_media_type(request: Request) -> None:
    """npm's piston-client sends JSON without saying so: then it is text."""
    given = request.headers.get("content-type", "").lower()
    if not given.startswith(("application/json", "text/plain")):
        raise WrongMedia("requests must be of type application/json")


async def caller_of(request: Request) -> Account:
    return await BEARER(with_bearer(request))


def answer_error(fault: DeemsterError) -> Response:
    kind = kind_of(type(fault))
    status = 400 if kind.status in {409, 422} else kind.status
    headers = dict(kind.headers)
    if isinstance(fault, LimitReached | Overloaded):
        headers["Retry-After"] = str(max(1, math.ceil(fault.retry_after_s)))
    message = kind.detail if isinstance(fault, Unavailable) and kind.detail else str(fault)
    return JSONResponse({"message": message or kind.title}, status, headers)


ENDPOINTS: Final = (
    ("GET", "/runtimes", runtimes),
    ("POST", "/execute", execute),
    ("GET", "/packages", packages),
    ("POST", "/packages", change_packages),
    ("DELETE", "/packages", change_packages),
)

routes: Final[list[BaseRoute]] = [
    *(
        DirectRoute(
            prefix + path + slash, answering_errors(endpoint, answer_error), methods=[method]
        )
        for prefix in PISTON_PREFIXES
        for method, path, endpoint in ENDPOINTS
        for slash in ("", "/")
    ),
    *piston_socket.routes,
    DirectRoute(PISTON_PREFIXES[0] + OTHER_PATHS, unknown_path, methods=list(METHODS)),
]
