"""Finds, saves and describes code sessions of the caller, for their routes (E2)."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.responses import Response

from deemster.api.app_state import AppState
from deemster.api.http.body import json_response
from deemster.api.http.errors import PreconditionFailed
from deemster.api.http.etag import version_etag
from deemster.api.models.code_sessions import session_out
from deemster.api.problems import draft_for, problem_for
from deemster.domain.account import Account
from deemster.domain.code_session import CodeSession
from deemster.domain.errors import NotFound
from deemster.domain.ids import GENERATED_ID, AccountId, CodeSessionId, ProblemId
from deemster.store import code_sessions
from deemster.store.pool import Connection, connection

WITH_ETAG: Final[Mapping[str, Any]] = {
    "ETag": {"description": "Of the session's version", "schema": {"type": "string"}}
}


async def save(
    acquired: Connection,
    caller: Account,
    session: CodeSessionId,
    *,
    language: str | None,
    source: str | None,
    expected: Sequence[int] | None,
    restored: int | None = None,
) -> CodeSession:
    """Returns the session as it is now, also if it had this content before.

    A repeated save has an `If-Match` that is out of date, but the content is there (E2).
    """
    saved = await code_sessions.save(
        acquired,
        session,
        caller.id,
        language=language,
        source=source,
        expected=expected,
        restored=restored,
    )
    if saved is not None:
        return saved
    current = await own_session(acquired, caller, session)
    is_saved = (source is None or source == current.source) and (
        language is None or language == current.language
    )
    if expected is not None and current.version not in expected and not is_saved:
        raise PreconditionFailed(
            f"The session has version {current.version} by now: read it, merge your change, "
            "and save with its ETag."
        )
    return current


async def solved_problem(
    state: AppState, caller: Account, problem: str | None
) -> ProblemId | None:
    """Refuses a problem that the caller can't see."""
    if problem is None:
        return None
    if await problem_for(state, caller, problem) is None:
        await draft_for(state, caller, problem)
    return ProblemId(problem)


async def session_of_problem(
    state: AppState, caller: Account, problem: str
) -> CodeSession | None:
    """The session in which the caller solves the problem, if there is one."""
    async with connection(state.pool) as acquired:
        return await code_sessions.of_problem(acquired, caller.id, ProblemId(problem))


async def own_session(acquired: Connection, caller: Account, session: str) -> CodeSession:
    """Does not reveal whether a session of another account exists (A11)."""
    found = await code_sessions.get(acquired, session_id(session), caller.id)
    if found is None:
        raise unknown_session()
    return found


async def session_filter(
    acquired: Connection, account: AccountId | None, session: str | None
) -> CodeSessionId | None:
    """Refuses a session that does not exist, or that is not of the account, if one is given."""
    if session is None:
        return None
    found = session_id(session)
    if not await code_sessions.exists(acquired, found, account):
        raise unknown_session()
    return found


def session_id(text: str) -> CodeSessionId:
    if not GENERATED_ID.fullmatch(text):
        raise unknown_session()
    return CodeSessionId(text)


def unknown_session() -> NotFound:
    return NotFound(
        "There is no such session, or it was deleted, or it belongs to another account."
    )


def with_etag(response: Response) -> Response:
    """A repeated response is stored without its headers."""
    version = json.loads(bytes(response.body))["version"]
    response.headers["ETag"] = version_etag(version)
    return response


def session_response(
    session: CodeSession,
    status: int,
    *,
    with_source: bool,
    headers: Mapping[str, str] | None = None,
) -> Response:
    etag = {"ETag": version_etag(session.version)}
    out = session_out(session, with_source=with_source)
    return json_response(out, status, {**etag, **(headers or {})})
