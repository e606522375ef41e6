"""`/v1/problems` and `/v1/languages`: list and show problems, and list languages."""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api.app_state import app_state
from deemster.api.authentication import Caller
from deemster.api.http.body import json_response, to_json
from deemster.api.http.errors import errors
from deemster.api.http.etag import IF_NONE_MATCH, NOT_MODIFIED, etag_response
from deemster.api.lookups import installed_versions
from deemster.api.models.problems import (
    LanguagesOut,
    ProblemOut,
    ProblemPage,
    ProblemQuery,
    language_out,
)
from deemster.api.problem_files import OTHER, PDF, ZIP, file_response, samples_response
from deemster.api.problems import cached_page, draft_for, problem_for
from deemster.cache.cache import Loaded
from deemster.cache.kinds import LANGUAGES
from deemster.programs.language_servers import document_of

router = APIRouter(tags=["problems"])
BINARY: Final[dict[str, Any]] = {
    "description": "The file",
    "content": {
        each: {"schema": {"type": "string", "format": "binary"}} for each in (PDF, OTHER)
    },
}
SAMPLES: Final[dict[str, Any]] = {
    "description": "A zip",
    "content": {ZIP: {"schema": {"type": "string", "format": "binary"}}},
}


@router.get(
    "/v1/problems",
    response_model=ProblemPage,
    openapi_extra={"parameters": [IF_NONE_MATCH]},
    responses={**NOT_MODIFIED, **errors(422)},
)
async def list_problems(
    request: Request, caller: Caller, query: Annotated[ProblemQuery, Query()]
) -> Response:
    """Lists the problems that match all filters."""
    return etag_response(request, await cached_page(app_state(request), caller, query))


@router.get(
    "/v1/problems/{id}",
    response_model=ProblemOut,
    openapi_extra={"parameters": [IF_NONE_MATCH]},
    responses={**NOT_MODIFIED, **errors(404)},
)
async def show_problem(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Shows the statements, samples and limits of a problem. Only its author and admins see a
    problem that is not published.
    """
    state = app_state(request)
    entry = await problem_for(state, caller, id)
    if entry is None:
        return json_response(await draft_for(state, caller, id))
    return etag_response(request, entry)


@router.get(
    "/v1/problems/{id}/files/{name}",
    response_class=Response,
    responses={200: BINARY, **errors(404)},
)
async def send_file(request: Request, caller: Caller, id: str, name: str) -> Response:  # noqa: A002
    """Sends a statement as PDF, or a file that authors attached."""
    return await file_response(app_state(request), caller, id, name)


@router.get(
    "/v1/problems/{id}/samples",
    response_class=Response,
    responses={200: SAMPLES, **errors(404)},
)
async def send_samples(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Sends the samples as a zip: `1.in`, `1.ans` and so on."""
    return await samples_response(app_state(request), caller, id)


@router.get(
    "/v1/languages",
    response_model=LanguagesOut,
    openapi_extra={"parameters": [IF_NONE_MATCH]},
    responses={**NOT_MODIFIED},
)
async def list_languages(request: Request, _caller: Caller) -> Response:
    """Lists all languages with their templates, and the versions that live workers have."""
    state = app_state(request)
    installed = installed_versions(await state.live_workers.get())

    is_served = state.settings.language_servers > 0

    async def load() -> Loaded:
        items = [
            language_out(each, installed, document_of(each) if is_served else None)
            for each in state.dependencies.catalogue
        ]
        return Loaded(to_json(LanguagesOut(items=items)))

    selector = repr((is_served, sorted(installed.items())))
    entry = await state.cache.get(LANGUAGES, selector, load, version=0)
    return etag_response(request, entry)
