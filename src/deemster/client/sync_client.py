"""The synchronous Python client of a Deemster server."""

from typing import Self

import httpx

from deemster.client.calls import code_sessions, executions, problems, submissions
from deemster.client.endpoint import find_endpoint
from deemster.client.exchange import Exchange, Retries
from deemster.client.sync_connection import CallGroup, Connection, iterating, returning


class Submissions(CallGroup):
    submit = returning(submissions.submit)
    judge = returning(submissions.judge)
    get = returning(submissions.get)
    judgement = returning(submissions.judgement)
    wait = returning(submissions.wait)
    watch = iterating(submissions.watch)
    events = iterating(submissions.events)
    list = iterating(submissions.list_submissions)
    cancel = returning(submissions.cancel)


class Problems(CallGroup):
    list = iterating(problems.list_problems)
    get = returning(problems.get)


class Executions(CallGroup):
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


class CodeSessions(CallGroup):
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


class Deemster(CallGroup):
    """A client of one server. It may be used by several threads; close it at the end."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        retries: Retries | None = None,
    ) -> None:
        """By default, DEEMSTER_URL and DEEMSTER_TOKEN name the server and the token."""
        endpoint = find_endpoint(url, token)
        self._http = httpx.Client(**endpoint.http_options())
        connection = Connection(self._http, Exchange(endpoint, retries or Retries()))
        super().__init__(connection)
        self.submissions = Submissions(connection)
        self.problems = Problems(connection)
        self.executions = Executions(connection)
        self.code_sessions = CodeSessions(connection)

    languages = returning(problems.languages)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
