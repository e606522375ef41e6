"""`/v1/code-sessions/{id}/versions`: list, show, restore and compare versions (E2)."""

import asyncio
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api.app_state import app_state
from deemster.api.authentication import Caller
from deemster.api.code_sessions import (
    WITH_ETAG,
    own_session,
    save,
    session_response,
    with_etag,
)
from deemster.api.http.body import json_response
from deemster.api.http.errors import errors
from deemster.api.http.etag import IF_MATCH, expected_versions
from deemster.api.http.idempotent_replay import IDEMPOTENCY_KEY, respond_once
from deemster.api.http.paging import PageQuery, cut, parse_number
from deemster.api.models.code_sessions import (
    CODE_SESSIONS_PATH,
    LARGEST_NUMBER,
    CodeSessionOut,
    CodeVersionOut,
    CodeVersionPage,
    DiffQuery,
    version_out,
)
from deemster.domain.code_session import CodeVersion
from deemster.domain.errors import NotFound
from deemster.domain.ids import CodeSessionId
from deemster.domain.text_diff import unified_diff
from deemster.store import code_sessions
from deemster.store.pool import Connection, connection, transaction

router = APIRouter(tags=["code sessions"])
PATH: Final = CODE_SESSIONS_PATH + "/{id}"
DIFF_TYPE: Final = "text/x-diff"


@router.get(PATH + "/versions", response_model=CodeVersionPage, responses=errors(404, 422))
async def list_versions(
    request: Request,
    caller: Caller,
    id: str,  # noqa: A002
    query: Annotated[PageQuery, Query()],
) -> Response:
    """Lists the versions of a session without their source, newest first. Old versions are
    deleted when there are more than 200, or they have more than 8 MB together.
    """
    before = query.last_number
    async with connection(app_state(request).pool) as acquired:
        session = await own_session(acquired, caller, id)
        found = await code_sessions.versions(
            acquired,
            session.id,
            before=None if before is None else min(before, LARGEST_NUMBER),
            limit=query.limit + 1,
        )
    page, cursor = cut(found, query.limit, lambda each: str(each.number))
    items = [version_out(each, with_source=False) for each in page]
    return json_response(CodeVersionPage(items=items, next_cursor=cursor))


@router.get(PATH + "/versions/{number}", response_model=CodeVersionOut, responses=errors(404))
async def show_version(
    request: Request,
    caller: Caller,
    id: str,  # noqa: A002
    number: str,
) -> Response:
    """Shows a version with its source."""
    async with connection(app_state(request).pool) as acquired:
        session = await own_session(acquired, caller, id)
        found = await known_version(acquired, session.id, parse_number(number))
    return json_response(version_out(found, with_source=True))


@router.post(
    PATH + "/versions/{number}/restore",
    response_model=CodeSessionOut,
    openapi_extra={"parameters": [IF_MATCH, *IDEMPOTENCY_KEY["parameters"]]},
    responses={**errors(404, 412, 422), 200: {"headers": WITH_ETAG}},
)
async def restore_version(
    request: Request,
    caller: Caller,
    id: str,  # noqa: A002
    number: str,
) -> Response:
    """Saves source and language of an older version as a new version."""
    async with transaction(app_state(request).pool) as writing:

        async def restore() -> Response:
            session = await own_session(writing, caller, id)
            found = await known_version(writing, session.id, parse_number(number))
            saved = await save(
                writing,
                caller,
                session.id,
                language=found.language,
                source=found.source,
                expected=expected_versions(request),
                restored=found.number,
            )
            return session_response(saved, 200, with_source=True)

        return with_etag(await respond_once(request, caller, writing, None, restore))


@router.get(
    PATH + "/diff",
    response_class=Response,
    responses={
        **errors(404, 422),
        200: {
            "description": "The difference in the unified format",
            "content": {DIFF_TYPE: {"schema": {"type": "string"}}},
        },
    },
)
async def compare_versions(
    request: Request,
    caller: Caller,
    id: str,  # noqa: A002
    query: Annotated[DiffQuery, Query()],
) -> Response:
    """Shows the difference of two versions. It is empty if their sources are equal."""
    async with connection(app_state(request).pool) as acquired:
        session = await own_session(acquired, caller, id)
        older = await known_version(acquired, session.id, query.older)
        newer = await known_version(acquired, session.id, query.newer)
    diff = await asyncio.to_thread(
        unified_diff,
        older.source,
        newer.source,
        f"version {older.number}",
        f"version {newer.number}",
    )
    return Response(diff, media_type=DIFF_TYPE)


async def known_version(
    acquired: Connection, session: CodeSessionId, number: int | None
) -> CodeVersion:
    found = None
    if number is not None and number <= LARGEST_NUMBER:
        found = await code_sessions.version(acquired, session, number)
    if found is None:
        raise NotFound("The session has no such version, or it was deleted because it is old.")
    return found
