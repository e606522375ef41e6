"""The asynchronous Python client of a Deemster server."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Self

import httpx

from deemster.client.async_connection import CallGroup, Connection, iterating, returning
from deemster.client.calls import code_sessions, executions, problems, submissions
from deemster.client.endpoint import find_endpoint
from deemster.client.exchange import Exchange, Retries

if TYPE_CHECKING:
    from deemster.client.terminal import Terminal


class AsyncSubmissions(CallGroup):
    submit = returning(submissions.submit)
    judge = returning(submissions.judge)
    get = returning(submissions.get)
    judgement = returning(submissions.judgement)
    wait = returning(submissions.wait)
    watch = iterating(submissions.watch)
    events = iterating(submissions.events)
    list = iterating(submissions.list_submissions)
    cancel = returning(submissions.cancel)


class AsyncProblems(CallGroup):
    list = iterating(problems.list_problems)
    get = returning(problems.get)


class AsyncExecutions(CallGroup):
    run = returning(executions.run)
    start = returning(executions.start)
    start_batch = returning(executions.start_batch)
    get = returning(executions.get)
    wait = returning(executions.wait)
    events = iterating(executions.events)
    list = iterating(executions.list_executions)
    cancel = returning(executions.cancel)
    type_input = returning(executions.type_input)
    end_input = returning(executions.end_input)
    send_signal = returning(executions.send_signal)
    resize = returning(executions.resize)
    recording = returning(executions.recording)

    def terminal(
        self,
        execution_id: str,
        *,
        after: str = "",
        on_lost: Callable[[], object] | None = None,
    ) -> "Terminal":
        """The terminal of a program that was started with `io="terminal"`, as a context
        manager. It shows the output after the id `after`; by default, all output.

        `on_lost` is called when the connection is lost; it is opened again then.
        """
        # Those who open no terminal don't need websockets.
        from deemster.client.terminal import Terminal  # noqa: PLC0415

        return Terminal(self._connection.exchange, execution_id, after, on_lost)


class AsyncCodeSessions(CallGroup):
    create = returning(code_sessions.create)
    get = returning(code_sessions.get)
    list = iterating(code_sessions.list_sessions)
    save = returning(code_sessions.save)
    run = returning(code_sessions.run)
    versions = iterating(code_sessions.versions)
    version = returning(code_sessions.version)
    restore = returning(code_sessions.restore)
    diff = returning(code_sessions.diff)
    delete = returning(code_sessions.delete)


class AsyncDeemster(CallGroup):
    """A client of one server, for one event loop; close it at the end."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        retries: Retries | None = None,
    ) -> None:
        """By default, DEEMSTER_URL and DEEMSTER_TOKEN name the server and the token."""
        endpoint = find_endpoint(url, token)
        self._http = httpx.AsyncClient(**endpoint.http_options())
        connection = Connection(self._http, Exchange(endpoint, retries or Retries()))
        super().__init__(connection)
        self.submissions = AsyncSubmissions(connection)
        self.problems = AsyncProblems(connection)
        self.executions = AsyncExecutions(connection)
        self.code_sessions = AsyncCodeSessions(connection)

    languages = returning(problems.languages)

    async def aclose(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
