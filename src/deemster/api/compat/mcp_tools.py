"""The tools that agents call over MCP, as a translation to executions and submissions (F5)."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from anyio import move_on_after
from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from deemster.api.app_state import AppState, app_state
from deemster.api.compat.mcp_models import (
    LanguageItem,
    LanguagesResult,
    ListLanguages,
    ReadProblem,
    ReadVerdict,
    RunCode,
    RunResult,
    Submit,
    run_result,
)
from deemster.api.compat.run_to_end import QUEUE_S, stop
from deemster.api.compat.runnable_languages import installed, runnable_language
from deemster.api.http.errors import Overloaded, invalid_body
from deemster.api.models.problems import ProblemOut, ProblemPage, ProblemQuery
from deemster.api.models.submissions import AcceptedOut, SubmissionOut, accepted_out
from deemster.api.permissions import READ, SUBMIT, Permission, check_permission
from deemster.api.problems import cached_page, cached_problem
from deemster.api.submissions import accept_submission, admit_submission, await_submission
from deemster.cache.cache import CacheEntry
from deemster.domain.account import Account

STOP_S: Final = 5.0
"""Longest time for ending an execution whose client has left."""

A = TypeVar("A", bound=BaseModel)
R = TypeVar("R", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Call:
    request: Request
    caller: Account

    @property
    def state(self) -> AppState:
        return app_state(self.request)


async def run_code(call: Call, asked: RunCode) -> RunResult:
    """Run a program once in a sandbox and return its output, exit code, time and memory.

    list_languages shows the languages. The program has no network, and files that it writes are
    not kept. By default it may run for 30 s and use 128 MB, or less if the operator of the
    server says so. The call waits until the program has ended. A program that fails is a
    result, not an error of the tool: look at `status`.
    """
    service = call.state.executions
    language = await runnable_language(call.state, asked.language)
    execution = asked.to_execute_request(service.accept.default_limits)
    compile_ms = language.compile.limits.wall_ms if language.compile else 0
    wait_s = (compile_ms + execution.limits.wall_ms) / 1000 + QUEUE_S
    accepted = await service.start(call.request, call.caller, execution)
    shown = None
    try:
        shown = await service.wait(accepted.id, wait_s)
    finally:
        if shown is None:  # it took too long, or the client has left
            with move_on_after(STOP_S, shield=True):
                await stop(call.state, accepted.id)
    if shown is None:
        raise Overloaded("The program did not end in time and was cancelled: try again later.")
    return run_result(shown, asked.output_chars)


async def list_languages(call: Call, _asked: ListLanguages) -> LanguagesResult:
    """List the programming languages that run_code and submit accept now, with versions."""
    versions = await installed(call.state)
    return LanguagesResult(
        languages=[
            LanguageItem(id=each.id, name=each.name, versions=versions[each.id])
            for each in call.state.dependencies.catalogue
            if each.id in versions
        ]
    )


async def list_problems(call: Call, asked: ProblemQuery) -> ProblemPage:
    """List the problems that can be solved, ordered by id, with their limits.

    If `next_cursor` is not null, there are more: call again with it as `cursor`.
    """
    return read(ProblemPage, await cached_page(call.state, call.caller, asked))


async def read_problem(call: Call, asked: ReadProblem) -> ProblemOut:
    """Read a problem: its statement (HTML), sample inputs and outputs, limits and languages.

    Solutions read standard input and write standard output, unless the statement says
    something else. Try a solution with run_code on the samples before you submit it.
    """
    return read(ProblemOut, await cached_problem(call.state, asked.problem_id))


async def submit(call: Call, asked: Submit) -> AcceptedOut:
    """Submit a solution of a problem to be judged on all its test cases, also hidden ones.

    Returns at once with the `id` of the submission; read_verdict returns the result. The
    submission counts, and the server limits how often you may submit to a problem.
    """
    async with call.state.admission.rate_tokens() as tokens:
        await admit_submission(call.request, call.caller, asked.idempotency_key, tokens)
        accepted = await accept_submission(
            call.state, call.caller, asked.to_submit_request(), tokens
        )
    return accepted_out(accepted)


async def read_verdict(call: Call, asked: ReadVerdict) -> SubmissionOut:
    """Read the verdict of your submission, and wait for it up to `wait_s` seconds.

    `verdict` is null while `status` is queued or running: call again. It is Accepted, or says
    what went wrong, with the number of the first failed case. Expected output is shown only
    for samples; other test data stays hidden.
    """
    entry = await await_submission(call.state, call.caller, asked.submission_id, asked.wait_s)
    return read(SubmissionOut, entry)


def read(model: type[R], entry: CacheEntry) -> R:
    assert entry.body is not None, "what does not exist was refused before"
    return model.model_validate_json(entry.body)


@dataclass(frozen=True, slots=True)
class Tool(Generic[A, R]):
    title: str
    run: Callable[[Call, A], Awaitable[R]]
    """Its docstring is the description that agents read."""
    arguments: type[A]
    result: type[R]
    permission: Permission = READ

    @property
    def name(self) -> str:
        return self.run.__name__

    async def call(self, call: Call, arguments: Mapping[str, Any]) -> R:
        check_permission(call.caller, self.permission)
        try:
            asked = self.arguments.model_validate(arguments)
        except ValidationError as fault:
            raise invalid_body(fault) from None
        return await self.run(call, asked)


TOOLS: Final[tuple[Tool[Any, Any], ...]] = (
    Tool("Run a program", run_code, RunCode, RunResult, SUBMIT),
    Tool("List languages", list_languages, ListLanguages, LanguagesResult),
    Tool("List problems", list_problems, ProblemQuery, ProblemPage),
    Tool("Read a problem", read_problem, ReadProblem, ProblemOut),
    Tool("Submit a solution", submit, Submit, AcceptedOut, SUBMIT),
    Tool("Read a verdict", read_verdict, ReadVerdict, SubmissionOut),
)
