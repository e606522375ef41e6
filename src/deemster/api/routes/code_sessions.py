"""`/v1/code-sessions`: edit source code with its versions, and run it (E1, E2, E3, E6)."""

from dataclasses import replace
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api.app_state import app_state
from deemster.api.authentication import BEARER, SECURED, Caller
from deemster.api.code_sessions import (
    WITH_ETAG,
    own_session,
    save,
    session_id,
    session_response,
    solved_problem,
    unknown_session,
    with_etag,
)
from deemster.api.http.body import json_response, read_json, request_body
from deemster.api.http.errors import errors
from deemster.api.http.etag import IF_MATCH, expected_versions
from deemster.api.http.idempotent_replay import (
    IDEMPOTENCY_KEY,
    idempotency_key,
    respond_once,
)
from deemster.api.http.paging import PageQuery, cut
from deemster.api.models.code_sessions import (
    CODE_SESSIONS_PATH,
    CodeSessionIn,
    CodeSessionOut,
    CodeSessionPage,
    CodeSessionPatch,
    session_out,
)
from deemster.api.models.executions import (
    BATCH_BYTES,
    AcceptedExecutionOut,
    RunIn,
)
from deemster.domain.code_session import check_source
from deemster.domain.errors import Conflict
from deemster.domain.execution import ProgramIo
from deemster.domain.ids import CODE_SESSION, CodeSessionId, new_id
from deemster.pipeline.verdict.delete_code_session import delete_code_session
from deemster.store import code_sessions
from deemster.store.pool import connection, transaction

router = APIRouter(tags=["code sessions"])
PATH: Final = CODE_SESSIONS_PATH


@router.post(
    PATH,
    status_code=201,
    response_model=CodeSessionOut,
    openapi_extra={**request_body(CodeSessionIn), **SECURED, **IDEMPOTENCY_KEY},
    responses={
        **errors(400, 404, 408, 409, 413, 415, 422),
        200: {"model": CodeSessionOut, "headers": WITH_ETAG},
        201: {"headers": WITH_ETAG},
    },
)
async def create_session(request: Request) -> Response:
    """Creates a session, with the given source or the template of the language. A user has one
    session for each problem; if there is one, it is the response.
    """
    caller = await BEARER(request)
    state = app_state(request)
    asked = await read_json(request, CodeSessionIn)
    language = state.dependencies.catalogue.named(asked.language)
    source = language.template if asked.template_code is None else asked.template_code
    check_source(language, source)
    most = state.settings.code_sessions_per_user
    problem = await solved_problem(state, caller, asked.problem_id)
    async with transaction(state.pool) as writing:

        async def create() -> Response:
            session = CodeSessionId(new_id(CODE_SESSION))
            made = await code_sessions.add(
                writing,
                session,
                caller.id,
                language=language.id,
                source=source,
                most=most,
                problem=problem,
            )
            if made is None and problem is not None:
                known = await code_sessions.of_problem(writing, caller.id, problem)
                assert known is not None, "the account is locked"
                return session_response(known, 200, with_source=True)
            if made is None:
                raise Conflict(f"You have {most} sessions: delete one before you create one.")
            return session_response(
                made, 201, with_source=True, headers={"Location": f"{PATH}/{session}"}
            )

        return with_etag(await respond_once(request, caller, writing, asked, create))


@router.get(PATH, response_model=CodeSessionPage, responses=errors(422))
async def list_sessions(
    request: Request, caller: Caller, query: Annotated[PageQuery, Query()]
) -> Response:
    """Lists your sessions without their source, newest first."""
    before = CodeSessionId(query.last_id) if query.last_id else None
    async with connection(app_state(request).pool) as acquired:
        found = await code_sessions.page(
            acquired, caller.id, before=before, limit=query.limit + 1
        )
    page, cursor = cut(found, query.limit, lambda each: each.id)
    items = [session_out(each, with_source=False) for each in page]
    return json_response(CodeSessionPage(items=items, next_cursor=cursor))


@router.get(
    PATH + "/{id}",
    response_model=CodeSessionOut,
    responses={**errors(404), 200: {"headers": WITH_ETAG}},
)
async def show_session(
    request: Request,
    caller: Caller,
    id: str,  # noqa: A002
) -> Response:
    """Shows a session with its source and the id of its latest execution."""
    async with connection(app_state(request).pool) as acquired:
        found = await own_session(acquired, caller, id)
    return session_response(found, 200, with_source=True)


@router.patch(
    PATH + "/{id}",
    response_model=CodeSessionOut,
    openapi_extra={**request_body(CodeSessionPatch), **SECURED, "parameters": [IF_MATCH]},
    responses={**errors(400, 404, 408, 412, 413, 415, 422), 200: {"headers": WITH_ETAG}},
)
async def save_session(
    request: Request,
    id: str,  # noqa: A002
) -> Response:
    """Saves source and language as a new version. Content that is already saved makes no new
    version. Without `If-Match`, the last save wins.
    """
    caller = await BEARER(request)
    state = app_state(request)
    asked = await read_json(request, CodeSessionPatch)
    catalogue = state.dependencies.catalogue
    async with connection(state.pool) as acquired:
        before = await own_session(acquired, caller, id)
    language = catalogue.named(asked.language) if asked.language is not None else None
    if asked.source_code is not None:
        check_source(language or catalogue.named(before.language), asked.source_code)
    async with connection(state.pool) as acquired:
        saved = await save(
            acquired,
            caller,
            before.id,
            language=language.id if language else None,
            source=asked.source_code,
            expected=expected_versions(request),
        )
    return session_response(saved, 200, with_source=False)


@router.post(
    PATH + "/{id}/run",
    status_code=202,
    response_model=AcceptedExecutionOut,
    openapi_extra={**request_body(RunIn), **SECURED, **IDEMPOTENCY_KEY},
    responses=errors(400, 404, 408, 409, 413, 415, 422),
)
async def run_session(
    request: Request,
    id: str,  # noqa: A002
) -> Response:
    """Runs the source as it is now; later changes do not affect the execution. The program
    runs later: see GET /v1/executions/{id}.
    """
    caller = await BEARER(request)
    state = app_state(request)
    asked = await read_json(request, RunIn, BATCH_BYTES)
    async with connection(state.pool) as acquired:
        session = await own_session(acquired, caller, id)
    run = asked.to_run(
        session.language,
        {"": session.source.encode()},
        state.executions.accept.default_for(ProgramIo(asked.io)),
        idempotency_key(request),
    )
    accepted = await state.executions.start(request, caller, replace(run, session=session.id))
    return await state.executions.accepted_response(accepted)


@router.delete(PATH + "/{id}", status_code=204, responses=errors(404))
async def delete_session(
    request: Request,
    caller: Caller,
    id: str,  # noqa: A002
) -> Response:
    """Deletes a session with its versions and executions. Running programs are killed."""
    session = session_id(id)
    if not await delete_code_session(app_state(request).pool, session, caller.id):
        raise unknown_session()
    return Response(status_code=204)
