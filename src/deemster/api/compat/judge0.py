"""The API of Judge0 v1.13.1 as a translation to executions."""

from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from deemster.api.compat.bearer_token import with_bearer
from deemster.api.compat.error_answers import Endpoint, error_as, message_of
from deemster.api.compat.judge0_info import (
    about,
    all_languages,
    authenticate,
    config,
    isolate,
    languages,
    license_text,
    show_language,
    statistics,
    statuses,
    system_info,
    version,
    workers,
)
from deemster.api.compat.judge0_request import InvalidFields
from deemster.api.compat.judge0_submissions import (
    Judge0Error,
    create,
    create_batch,
    delete,
    show,
    show_batch,
    show_page,
)
from deemster.api.http.direct_route import DirectRoute
from deemster.api.http.errors import Overloaded, kind_of
from deemster.api.permissions import (
    COMPAT_PERMISSIONS,
    JUDGE0_PREFIXES,
    METHODS,
    OTHER_PATHS,
)
from deemster.domain.account import Role
from deemster.domain.errors import DeemsterError
from deemster.metrics import REFUSED

ENDPOINTS: Final[dict[tuple[str, str], Endpoint]] = {
    ("POST", "/submissions"): create,
    ("GET", "/submissions"): show_page,
    ("POST", "/submissions/batch"): create_batch,
    ("GET", "/submissions/batch"): show_batch,
    ("GET", "/submissions/{token}"): show,
    ("DELETE", "/submissions/{token}"): delete,
    ("GET", "/languages"): languages,
    ("GET", "/languages/all"): all_languages,
    ("GET", "/languages/{id}"): show_language,
    ("GET", "/statuses"): statuses,
    ("GET", "/config_info"): config,
    ("GET", "/system_info"): system_info,
    ("GET", "/statistics"): statistics,
    ("GET", "/workers"): workers,
    ("GET", "/about"): about,
    ("GET", "/version"): version,
    ("GET", "/isolate"): isolate,
    ("GET", "/license"): license_text,
    ("POST", "/authenticate"): authenticate,
    ("POST", "/authorize"): authenticate,
}


def with_judge0_errors(endpoint: Endpoint, token_header: str) -> Endpoint:
    async def call(request: Request) -> Response:
        try:
            return await endpoint(with_bearer(request, token_header, "x-auth-token"))
        except InvalidFields as fault:
            return JSONResponse(fault.errors, 422)
        except Judge0Error as fault:
            return JSONResponse({"error": str(fault)}, fault.status)
        except DeemsterError as fault:
            return error_answer(fault)

    return call


def error_answer(fault: DeemsterError) -> Response:
    REFUSED.labels(fault.code).inc()
    message = "queue is full" if isinstance(fault, Overloaded) else message_of(fault)
    is_invalid = kind_of(type(fault)).status == 422
    return error_as({"base": [message]} if is_invalid else {"error": message}, fault)


async def unknown_path(_request: Request) -> Response:
    return JSONResponse({"error": "Not Found"}, 404)


def make_routes() -> list[BaseRoute]:
    """Admins' routes read their token from Judge0's second header, too."""
    routes: list[BaseRoute] = []
    for prefix in JUDGE0_PREFIXES:
        for (method, path), endpoint in ENDPOINTS.items():
            need = COMPAT_PERMISSIONS["judge0"][method, prefix + path]
            is_admins = need is not None and need.role is Role.ADMIN
            header = "x-auth-user" if is_admins else "x-auth-token"
            routes.append(
                DirectRoute(
                    prefix + path, with_judge0_errors(endpoint, header), methods=[method]
                )
            )
    others = JUDGE0_PREFIXES[0] + OTHER_PATHS
    return [*routes, DirectRoute(others, unknown_path, methods=list(METHODS))]


routes: Final = make_routes()
