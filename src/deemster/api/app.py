"""The app: routes, errors and documents, over what `wiring` has opened."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from deemster import __version__
from deemster.api.dependencies import Dependencies
from deemster.api.http.direct_route import DirectGet, DirectRoute
from deemster.api.http.errors import (
    Malformed,
    NoRoute,
    WrongMethod,
    invalid_of,
    request_id_of,
    response_of,
)
from deemster.api.http.middleware import RequestMiddleware
from deemster.api.openapi import DocumentedApp
from deemster.api.permissions import check_table
from deemster.api.routes import (
    accounts,
    audit,
    contests,
    dead_letters,
    docs,
    events,
    health,
    metrics,
    oidc,
    problem_import,
    problems,
    queues,
    rejudgings,
    session,
    submissions,
    tokens,
    users,
    webhooks,
    workers,
)
from deemster.api.state import AppState
from deemster.domain.errors import DeemsterError, LimitReached, Unavailable
from deemster.metrics import REFUSED

log = structlog.get_logger()


def create_app(dependencies: Dependencies) -> FastAPI:
    state = AppState.of(dependencies)

    @asynccontextmanager
    async def run_beside(_app: FastAPI) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            noting = group.create_task(state.credentials.note_uses())
            following = group.create_task(state.feed.run())
            try:
                yield
            finally:
                noting.cancel()
                following.cancel()

    app = DocumentedApp(
        title="Deemster",
        version=__version__,
        description="Hand programs in, and hear what became of them.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=run_beside,
        # As they are: a router that is included is looked through anew for each request.
        routes=[
            DirectRoute(submissions.PATH, submissions.submit, methods=["POST"]),
            DirectGet(submissions.PATH + "/{id}", submissions.poll),
            *submissions.router.routes,
            *problems.router.routes,
            *events.router.routes,
            *webhooks.router.routes,
            *contests.router.routes,
            *rejudgings.router.routes,
            *problem_import.router.routes,
            *queues.router.routes,
            *dead_letters.router.routes,
            *workers.router.routes,
            *audit.router.routes,
            *session.router.routes,
            *accounts.router.routes,
            *tokens.router.routes,
            *oidc.router.routes,
            *users.router.routes,
            *health.router.routes,
            *docs.router.routes,
            *metrics.router.routes,
        ],
        exception_handlers={
            DeemsterError: on_fault,
            RequestValidationError: on_invalid,
            HTTPException: on_http,
        },
    )
    check_table(app.routes)
    app.state.app_state = state
    app.add_middleware(RequestMiddleware, public_url=dependencies.settings.public_url)
    return app


async def on_fault(request: Request, fault: Exception) -> Response:
    assert isinstance(fault, DeemsterError)
    REFUSED.labels(fault.code).inc()
    if isinstance(fault, LimitReached):
        log.info("request.refused", reason=fault.code)
    elif isinstance(fault, Unavailable):
        log.warning("request.unavailable", reason=fault.code, error=str(fault))
    return response_of(fault, request_id_of(request))


async def on_invalid(request: Request, fault: Exception) -> Response:
    assert isinstance(fault, RequestValidationError)
    # The first part of a location is query, header or path: the name says enough.
    errors = [{**error, "loc": error["loc"][1:]} for error in fault.errors()]
    return response_of(invalid_of(errors), request_id_of(request))


async def on_http(request: Request, fault: Exception) -> Response:
    """What the framework itself refuses."""
    assert isinstance(fault, HTTPException)
    told: DeemsterError = Malformed(str(fault.detail))
    headers = fault.headers
    if fault.status_code == 404:
        told = NoRoute("There is nothing at this path: see /docs.")
    elif fault.status_code == 405:
        told = WrongMethod(f"{request.method} can't be done here: see /docs.")
        headers = {"Allow": ", ".join(sorted(methods_at(request)))}
    return response_of(told, request_id_of(request), headers)


def methods_at(request: Request) -> set[str]:
    """All that the path knows; the framework names those of its first route only."""
    routes = [each for each in request.app.routes if isinstance(each, Route)]
    here = [each for each in routes if each.path_regex.match(request.url.path)]
    return {method for each in here for method in each.methods or ()}
