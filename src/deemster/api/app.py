"""Assembles the FastAPI app: its routes, error handlers and background tasks."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import structlog
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from deemster import __version__
from deemster.api.app_state import AppState
from deemster.api.compat.enabled import compat_routes
from deemster.api.dependencies import Dependencies
from deemster.api.http.compression import Compression
from deemster.api.http.direct_route import DirectGet, DirectRoute
from deemster.api.http.errors import (
    Malformed,
    UnknownPath,
    WrongMethod,
    error_response,
    request_id_of,
    validation_error,
)
from deemster.api.http.middleware import RequestMiddleware
from deemster.api.models.submissions import SUBMISSIONS_PATH
from deemster.api.openapi import DocumentedApp
from deemster.api.permissions import check_table
from deemster.api.routes import (
    accounts,
    analyses,
    audit,
    code_sessions,
    code_versions,
    contests,
    dead_letters,
    docs,
    evaluation_admin,
    evaluations,
    events,
    executions,
    health,
    heng_keys,
    judge_host_admin,
    judgehost_registration,
    judgehost_tasks,
    judgements,
    language_server,
    live,
    log_in_link,
    metrics,
    oidc,
    problem_import,
    problem_stages,
    problems,
    queues,
    rejudgings,
    session,
    similarity,
    submissions,
    terminal,
    tokens,
    user_import,
    users,
    verification,
    webhooks,
    workers,
)
from deemster.domain.errors import DeemsterError, LimitReached, Unavailable
from deemster.metrics import REFUSED

Explain = Callable[[Request, DeemsterError], str | None]
"""Returns the detail of an error for the caller; None: the English one."""

log = structlog.get_logger()


def create_app(
    dependencies: Dependencies, pages: Sequence[Route] = (), explain: Explain | None = None
) -> FastAPI:
    """`pages` are the routes of the web pages; an app can do without them. `explain` tells
    scripts of pages what went wrong in the language of the page.
    """
    state = AppState.of(dependencies)

    @asynccontextmanager
    async def run_tasks(_app: FastAPI) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            record_uses = group.create_task(state.credentials.record_uses())
            follow_events = group.create_task(state.feed.run())
            follow_output = group.create_task(state.live_output.run())
            follow_hosts = group.create_task(state.host_tasks.run())
            sample_metrics = group.create_task(state.metric_history.run())
            try:
                yield
            finally:
                record_uses.cancel()
                follow_events.cancel()
                follow_output.cancel()
                follow_hosts.cancel()
                sample_metrics.cancel()

    app = DocumentedApp(
        title="Deemster",
        version=__version__,
        description="Submit programs to problems, and read their verdicts.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=run_tasks,
        # Not by include_router: an included router is searched anew for each request.
        routes=[
            DirectRoute(SUBMISSIONS_PATH, submissions.submit, methods=["POST"]),
            DirectGet(SUBMISSIONS_PATH + "/{id}", submissions.show_current),
            *submissions.router.routes,
            *judgements.router.routes,
            *executions.router.routes,
            *live.router.routes,
            *terminal.routes,
            *language_server.routes,
            *code_sessions.router.routes,
            *code_versions.router.routes,
            *problems.router.routes,
            *similarity.router.routes,
            *events.router.routes,
            *webhooks.router.routes,
            *contests.router.routes,
            *rejudgings.router.routes,
            *evaluations.router.routes,
            *evaluation_admin.router.routes,
            *problem_import.router.routes,
            *problem_stages.router.routes,
            *verification.router.routes,
            *analyses.router.routes,
            *queues.router.routes,
            *dead_letters.router.routes,
            *workers.router.routes,
            *judgehost_registration.router.routes,
            *judgehost_tasks.router.routes,
            *judge_host_admin.router.routes,
            *audit.router.routes,
            *session.router.routes,
            *log_in_link.router.routes,
            *accounts.router.routes,
            *tokens.router.routes,
            *tokens.admin_router.routes,
            *oidc.router.routes,
            *user_import.router.routes,
            *users.router.routes,
            *heng_keys.router.routes,
            *pages,  # before health, which also answers `/`
            *health.router.routes,
            *docs.router.routes,
            *metrics.router.routes,
            *compat_routes(dependencies.settings.compat),
        ],
        exception_handlers={
            DeemsterError: on_error,
            RequestValidationError: on_invalid,
            HTTPException: on_http_error,
        },
    )
    check_table(app.routes, dependencies.settings.compat, pages=bool(pages))
    app.state.app_state = state
    app.state.explain = explain
    if dependencies.settings.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=dependencies.settings.cors_origins,
            allow_methods=["*"],
            allow_headers=["*"],
            expose_headers=["Location", "ETag", "Retry-After", "X-Request-Id"],
        )
    app.add_middleware(Compression)
    app.add_middleware(RequestMiddleware, public_url=dependencies.settings.public_url)
    return app


async def on_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, DeemsterError)
    REFUSED.labels(error.code).inc()
    if isinstance(error, LimitReached):
        log.info("request.refused", reason=error.code, limit=error.limit_name or error.code)
    elif isinstance(error, Unavailable):
        log.warning("request.unavailable", reason=error.code, error=str(error))
    explain: Explain | None = request.app.state.explain
    detail = explain(request, error) if explain is not None else None
    return error_response(error, request_id_of(request), detail=detail)


async def on_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    # The first part of a location is query, header or path; the field's name is enough.
    errors = [{**each, "loc": each["loc"][1:]} for each in error.errors()]
    return error_response(validation_error(errors), request_id_of(request))


async def on_http_error(request: Request, error: Exception) -> Response:
    """Answers errors of the framework."""
    assert isinstance(error, HTTPException)
    answer: DeemsterError = Malformed(str(error.detail))
    headers = error.headers
    if error.status_code == 404:
        hint = "leave out the / at its end, or " if request.url.path.endswith("/") else ""
        answer = UnknownPath(f"The API has no such path: {hint}see /docs.")
    elif error.status_code == 405:
        answer = WrongMethod(f"This path does not support {request.method}: see /docs.")
        headers = {"Allow": ", ".join(sorted(allowed_methods(request)))}
    return error_response(answer, request_id_of(request), headers)


def allowed_methods(request: Request) -> set[str]:
    """Methods of all routes of the path; the framework names only those of the first."""
    routes = [each for each in request.app.routes if isinstance(each, Route)]
    matching = [each for each in routes if each.path_regex.match(request.url.path)]
    # `/v1/executions/batch` is not an execution with the id `batch`.
    exact = [each for each in matching if each.path == request.url.path]
    found = {method for each in exact or matching for method in each.methods or ()}
    return found | {"HEAD"} if "GET" in found else found
