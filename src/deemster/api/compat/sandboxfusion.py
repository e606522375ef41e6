"""The route /run_code of SandboxFusion, as a translation to executions."""

import asyncio
import base64
import binascii
import math
import time
from dataclasses import replace
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from deemster.api.app_state import AppState, app_state
from deemster.api.authentication import BEARER
from deemster.api.compat.bearer_token import with_bearer
from deemster.api.compat.error_answers import answering_errors
from deemster.api.compat.request_json import Object, read_object
from deemster.api.compat.run_to_end import run_to_end
from deemster.api.compat.runnable_languages import compiles, runnable_language
from deemster.api.compat.source_names import name_main
from deemster.api.executions import ShownExecution
from deemster.api.http.direct_route import DirectRoute
from deemster.api.http.errors import (
    Forbidden,
    Overloaded,
    Unauthorised,
    invalid_body,
    kind_of,
)
from deemster.domain.account import Account
from deemster.domain.errors import DeemsterError, LimitReached, Refused, Unavailable
from deemster.domain.execution import (
    TIMEOUTS,
    CompileResult,
    ExecutionOptions,
    ExecutionResult,
    Stream,
    error_of,
)
from deemster.domain.language import Language
from deemster.domain.limits import MIB
from deemster.domain.run_status import RunStatus
from deemster.pipeline.accept.executions import ExecuteRequest

CLIENT_EXTRA_S: Final = 10.0
"""Clients wait this much longer than compiling and running may take."""
ANSWER_S: Final = 1.0
"""The answer leaves this much earlier, so that it arrives before the client gives up."""
PAUSE_S: Final = 0.5
NO_LIMIT: Final = -1
LEAST_MB: Final = 1

MAX_SECONDS: Final = 600
"""Bounds how long a request waits, also for languages without a compiler."""

Seconds = Annotated[float, Field(gt=0, le=MAX_SECONDS, allow_inf_nan=False)]


def check_memory(memory_mb: int) -> int:
    if memory_mb != NO_LIMIT and memory_mb < LEAST_MB:
        raise ValueError("send -1, or at least 1")
    return memory_mb


class RunCodeIn(BaseModel):
    """Unknown fields are refused, because they could not be honoured."""

    model_config = ConfigDict(extra="forbid")

    code: str
    language: str
    stdin: str | None = None
    compile_timeout: Seconds = 10.0
    run_timeout: Seconds = 10.0
    memory_limit_MB: Annotated[int, AfterValidator(check_memory)] = NO_LIMIT  # noqa: N815
    files: dict[str, str | None] = Field(default_factory=dict)
    fetch_files: list[str] = Field(default_factory=list)
    args: list[str] = Field(default_factory=list)


async def run_code(request: Request) -> Response:
    started_s = time.monotonic()
    caller = await caller_of(request)
    try:
        asked = RunCodeIn.model_validate(await read_object(request))
    except ValidationError as fault:
        raise invalid_body(fault) from None
    allowed_s = asked.compile_timeout + asked.run_timeout + CLIENT_EXTRA_S - ANSWER_S
    state = app_state(request)
    check_limits(state, asked)
    deadline_s = started_s + allowed_s
    while (left_s := deadline_s - time.monotonic()) > 0:
        try:
            language = await runnable_language(state, asked.language)
            shown = await run_to_end(
                request, caller, execute_request(state, language, asked), left_s
            )
        except (LimitReached, Unavailable) as fault:
            await asyncio.sleep(min(pause_after(fault), left_s))
        else:
            if shown is not None:
                return JSONResponse(answer_of(language, shown))
            break
    return JSONResponse({"detail": "The program did not get its turn: send it again."}, 504)


async def caller_of(request: Request) -> Account:
    """A client that sends too fast waits; it would count an error as a wrong program."""
    deadline_s = time.monotonic() + CLIENT_EXTRA_S
    while True:
        try:
            return await BEARER(with_bearer(request))
        except LimitReached as fault:
            if time.monotonic() >= deadline_s:
                raise Overloaded("You send requests too fast.") from None
            await asyncio.sleep(min(pause_after(fault), PAUSE_S))


def pause_after(fault: DeemsterError) -> float:
    return min(getattr(fault, "retry_after_s", PAUSE_S), PAUSE_S)


def check_limits(state: AppState, asked: RunCodeIn) -> None:
    most = state.executions.accept.most
    if asked.run_timeout * 1000 > most.wall_ms:
        raise Refused(f"run_timeout is above {most.wall_ms / 1000:g}, the limit of this server")
    if asked.memory_limit_MB * MIB > most.memory_bytes:
        raise Refused(
            f"memory_limit_MB is above {most.memory_bytes // MIB}, the limit of this server"
        )


def execute_request(state: AppState, language: Language, asked: RunCodeIn) -> ExecuteRequest:
    accept = state.executions.accept
    files = {name: decoded(name, content) for name, content in asked.files.items()}
    named, main = name_main(language, language.source.file, asked.code.encode(), files)
    step = language.compile
    if step is None or not compiles(language):
        options = ExecutionOptions(return_files=asked.fetch_files)
    else:
        compile_ms = math.ceil(asked.compile_timeout * 1000)
        if compile_ms > step.limits.wall_ms:
            raise Refused(
                f"compile_timeout is above {step.limits.wall_ms / 1000:g}, "
                f"the limit for {language.name}"
            )
        options = ExecutionOptions(compile_wall_ms=compile_ms, return_files=asked.fetch_files)
    run_ms = math.ceil(asked.run_timeout * 1000)
    memory_mb = asked.memory_limit_MB
    return ExecuteRequest(
        language=language.id,
        files=named,
        main=main,
        stdin=(asked.stdin or "").encode(),
        args=asked.args,
        limits=replace(
            accept.default_limits,
            wall_ms=run_ms,
            cpu_ms=run_ms,
            memory_bytes=accept.most.memory_bytes if memory_mb == NO_LIMIT else memory_mb * MIB,
            output_bytes=accept.most.output_bytes,
        ),
        options=options,
        client={"api": "sandboxfusion"},
    )


def decoded(name: str, content: str | None) -> bytes:
    try:
        return base64.b64decode("".join((content or "").split()), validate=True)
    except (binascii.Error, ValueError):
        raise Refused(f"The file {name[:100]!r} is not valid base64.") from None


def answer_of(language: Language, shown: ShownExecution) -> Object:
    view, result = shown.view, shown.view.result
    if result is None or result.status in {RunStatus.INTERNAL_ERROR, RunStatus.CANCELLED}:
        error = error_of(view)
        return sandbox_error(error[1] if error else "The execution was cancelled.")
    compiled = compile_result(result) if compiles(language) else None
    run = None
    if result.status is not RunStatus.COMPILE_ERROR:
        run = run_result(result, shown)
    elif compiled is None:
        run = compile_result(result)
    is_success = result.status is RunStatus.OK
    return {
        "status": "Success" if is_success else "Failed",
        "message": "",
        "compile_result": compiled,
        "run_result": run,
        "executor_pod_name": None,
        "files": {
            name: base64.b64encode(content).decode()
            for name, content in result.returned_files.items()
        },
    }


def compile_result(result: ExecutionResult) -> Object:
    failed = result.status is RunStatus.COMPILE_ERROR
    found = result.compile or CompileResult(RunStatus.OK, "", 0)
    timed_out = found.status in TIMEOUTS
    return {
        "status": "TimeLimitExceeded" if timed_out else "Finished",
        "execution_time": found.ms / 1000,
        "return_code": None if timed_out else int(failed),
        "stdout": "",
        "stderr": found.output,
    }


def run_result(result: ExecutionResult, shown: ShownExecution) -> Object:
    timed_out = result.status in TIMEOUTS
    return {
        "status": "TimeLimitExceeded" if timed_out else "Finished",
        "execution_time": result.wall_ms / 1000,
        "return_code": None if timed_out else return_code(result),
        "stdout": shown.output.get(Stream.STDOUT, b"").decode(errors="replace"),
        "stderr": shown.output.get(Stream.STDERR, b"").decode(errors="replace"),
    }


def return_code(result: ExecutionResult) -> int:
    """As in Python: minus the signal; -9 if a limit ended the program."""
    if result.signal is not None:
        return -result.signal
    if result.exit_code is not None and (result.exit_code or result.status is RunStatus.OK):
        return result.exit_code
    return -9


def sandbox_error(message: str) -> Object:
    return {
        "status": "SandboxError",
        "message": message,
        "compile_result": None,
        "run_result": None,
        "executor_pod_name": None,
        "files": {},
    }


def answer_error(fault: DeemsterError) -> Response:
    """Clients repeat only after 504, and count other errors as wrong programs."""
    kind = kind_of(type(fault))
    if isinstance(fault, Unauthorised | Forbidden):
        return JSONResponse({"detail": str(fault)}, kind.status, dict(kind.headers))
    if isinstance(fault, LimitReached | Unavailable):
        return JSONResponse({"detail": kind.detail or str(fault)}, 504)
    return JSONResponse(sandbox_error(str(fault) or kind.title), headers=dict(kind.headers))


routes: Final[list[BaseRoute]] = [
    DirectRoute("/run_code", answering_errors(run_code, answer_error), methods=["POST"])
]
