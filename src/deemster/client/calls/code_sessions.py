"""Calls that edit code sessions with their versions, and run them (E1, E2, E3, E6)."""

from deemster.client.exchange import Exchange, creating, given, path_of
from deemster.client.models.code_sessions import CodeSession, CodeVersion
from deemster.client.models.executions import RunOptions, StartedExecution
from deemster.client.paging import list_all
from deemster.client.steps import ItemSteps, Request, Steps


def create(
    exchange: Exchange,
    language: str,
    *,
    template_code: str | None = None,
    key: str | None = None,
) -> Steps[CodeSession]:
    """Creates a session, with `template_code` or the template of the language."""
    body = {"language": language, **given(template_code=template_code)}
    return exchange.fetch(CodeSession, creating(path_of("code-sessions"), body, key))


def get(exchange: Exchange, session_id: str) -> Steps[CodeSession]:
    """Reads a session with its source."""
    return exchange.fetch(CodeSession, Request("GET", path_of("code-sessions", session_id)))


def list_sessions(exchange: Exchange) -> ItemSteps[CodeSession]:
    """Iterates over your sessions without their source, newest first."""
    return list_all(exchange, path_of("code-sessions"), CodeSession, {})


def save(
    exchange: Exchange,
    session_id: str,
    *,
    source_code: str | None = None,
    language: str | None = None,
    if_version: int | None = None,
) -> Steps[CodeSession]:
    """Saves the source, the language or both as a new version.

    With `if_version`, it raises `VersionConflictError` and changes nothing if the session has
    another version by now. Without it, the last save wins.
    """
    request = Request(
        "PATCH",
        path_of("code-sessions", session_id),
        headers=if_match(if_version),
        json=given(source_code=source_code, language=language),
    )
    return exchange.fetch(CodeSession, request)


def run(
    exchange: Exchange,
    session_id: str,
    options: RunOptions | None = None,
    *,
    key: str | None = None,
) -> Steps[StartedExecution]:
    """Runs the source as it is now; later changes do not affect the execution."""
    body = (options or RunOptions()).to_json()
    request = creating(path_of("code-sessions", session_id, "run"), body, key)
    return exchange.fetch(StartedExecution, request)


def versions(exchange: Exchange, session_id: str) -> ItemSteps[CodeVersion]:
    """Iterates over the versions without their source, newest first."""
    path = path_of("code-sessions", session_id, "versions")
    return list_all(exchange, path, CodeVersion, {})


def version(exchange: Exchange, session_id: str, number: int) -> Steps[CodeVersion]:
    """Reads a version with its source."""
    path = path_of("code-sessions", session_id, "versions", number)
    return exchange.fetch(CodeVersion, Request("GET", path))


def restore(
    exchange: Exchange, session_id: str, number: int, *, if_version: int | None = None
) -> Steps[CodeSession]:
    """Saves the content of an older version as a new version; `if_version` as for `save`."""
    path = path_of("code-sessions", session_id, "versions", number, "restore")
    # A repeat finds the content saved already and makes no version.
    request = Request("POST", path, headers=if_match(if_version))
    return exchange.fetch(CodeSession, request)


def diff(exchange: Exchange, session_id: str, older: int, newer: int) -> Steps[str]:
    """Compares two versions, in the unified format; the result is empty if they are equal."""
    path = path_of("code-sessions", session_id, "diff")
    params = {"from": str(older), "to": str(newer)}
    answer = yield from exchange.send(Request("GET", path, params=params))
    return answer.body.decode()


def delete(exchange: Exchange, session_id: str) -> Steps[None]:
    """Deletes a session with its versions and executions; running programs are killed."""
    path = path_of("code-sessions", session_id)
    yield from exchange.send(Request("DELETE", path, status_if_done=404))


def if_match(version: int | None) -> dict[str, str]:
    return {} if version is None else {"If-Match": f'"v{version}"'}
