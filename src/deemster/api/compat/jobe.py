"""The API of Jobe, the server behind Moodle's CodeRunner, as a translation to executions."""

import base64
import binascii
import math
import re
import shlex
from dataclasses import replace
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from deemster.api.app_state import app_state
from deemster.api.authentication import BEARER
from deemster.api.compat.bearer_token import with_bearer
from deemster.api.compat.error_answers import answering_errors
from deemster.api.compat.request_json import Object, is_number, read_object, text_list
from deemster.api.compat.run_to_end import QUEUE_S, run_to_end
from deemster.api.compat.runnable_languages import compiles, installed
from deemster.api.compat.source_names import name_main
from deemster.api.executions import ShownExecution
from deemster.api.http.direct_route import DirectRoute
from deemster.api.http.errors import TooLarge, Unauthorised, kind_of
from deemster.api.permissions import JOBE_PREFIX, JOBE_ROOT, METHODS, OTHER_PATHS
from deemster.domain.account import Account
from deemster.domain.errors import DeemsterError, LimitReached, NotFound, Refused, Unavailable
from deemster.domain.execution import (
    TIMEOUTS,
    ExecutionLimits,
    ExecutionOptions,
    ExecutionResult,
    Stream,
    error_of,
    lower_of,
    message_of,
)
from deemster.domain.language import Language
from deemster.domain.limits import MIB
from deemster.domain.run_status import RunStatus
from deemster.pipeline.accept.executions import ExecuteRequest
from deemster.store import client_files
from deemster.store.pool import connection, transaction

COMPILE_ERROR: Final = 11
RUNTIME_ERROR: Final = 12
TIME_LIMIT: Final = 13
SUCCESS: Final = 15
MEMORY_LIMIT: Final = 17
ILLEGAL_SYSCALL: Final = 19
INTERNAL_ERROR: Final = 20
OVERLOAD: Final = 21

JOBE_NAMES: Final = {"javascript": "nodejs"}
"""Jobe's names of languages that have another id here."""
FILE_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,255}")
FILE_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,255}")
WALL_FACTOR: Final = 2
"""Jobe ends a program after twice its CPU time."""
DEFAULTS: Final = ExecutionLimits(
    wall_ms=10_000,
    cpu_ms=5_000,
    memory_bytes=400 * MIB,
    processes=30,
    output_bytes=2 * MIB,
    file_bytes=20 * MIB,
)
SPEC_FIELDS: Final = {
    "language_id",
    "sourcecode",
    "sourcefilename",
    "input",
    "file_list",
    "parameters",
    "debug",
}
SIZES: Final = {
    "memorylimit": ("memory_bytes", MIB),
    "disklimit": ("file_bytes", MIB),
    "streamsize": ("output_bytes", MIB),
    "numprocs": ("processes", 1),
}
ARGUMENTS: Final = ("compileargs", "linkargs", "interpreterargs", "runargs")
OF_CODERUNNER: Final = ("debug", "jobeapikey", "jobeserver", "sourcefilename")
"""CodeRunner honours these itself, and sends them with the others."""


async def languages(request: Request) -> Response:
    await caller_of(request)
    state = app_state(request)
    versions = await installed(state)
    return JSONResponse(
        [
            [JOBE_NAMES.get(each.id, each.id), ", ".join(versions[each.id])]
            for each in state.dependencies.catalogue
            if each.id in versions
        ]
    )


async def run(request: Request) -> Response:
    caller = await caller_of(request)
    spec = (await read_object(request)).get("run_spec")
    if not isinstance(spec, dict):
        raise Refused("No run_spec attribute found in post data")
    asked = await execute_request(request, caller, spec)
    wait_s = 60 + asked.limits.wall_ms / 1000 + QUEUE_S
    try:
        shown = await run_to_end(request, caller, asked, wait_s)
    except (LimitReached, Unavailable):
        shown = None
    if shown is None:
        return JSONResponse(result_object(None, OVERLOAD))
    return JSONResponse(result_of(shown))


async def put_file(request: Request) -> Response:
    caller = await caller_of(request)
    state = app_state(request)
    name = file_id(request)
    most = state.settings.client_file_mb * MIB
    sent = (await read_object(request, most * 4 // 3 + 4096)).get("file_contents")
    if not isinstance(sent, str):
        raise Refused("put: missing file_contents parameter")
    try:
        content = base64.b64decode("".join(sent.split()), validate=True)
    except (binascii.Error, ValueError):
        raise Refused(f"put: contents of file {name} are not valid base-64") from None
    if len(content) > most:
        raise TooLarge(f"put: file {name} has more than {most // MIB} MB")
    async with transaction(state.pool) as acquired:
        await client_files.put(
            acquired,
            caller.id,
            name,
            content,
            max_bytes=state.settings.client_files_mb * MIB,
        )
    return Response(status_code=204)


async def find_file(request: Request) -> Response:
    caller = await caller_of(request)
    async with connection(app_state(request).pool) as acquired:
        found = await client_files.touch(acquired, caller.id, file_id(request))
    return Response(status_code=204 if found else 404)


async def caller_of(request: Request) -> Account:
    return await BEARER(with_bearer(request, "x-api-key"))


def file_id(request: Request) -> str:
    name: str = request.path_params["id"]
    if not FILE_ID.fullmatch(name):
        raise Refused("A file's id consists of letters, digits, dots, dashes and underscores")
    return name


async def execute_request(request: Request, caller: Account, spec: Object) -> ExecuteRequest:
    state = app_state(request)
    check_spec(spec)
    try:
        language = state.dependencies.catalogue.named(spec["language_id"])
    except Refused:
        language = None
    if language is None or language.id not in await installed(state):
        raise Refused(f"Language '{spec['language_id'][:100]}' is not known")
    parameters = spec.get("parameters") or {}
    check_parameters(language, parameters)
    wanted = wanted_files(spec.get("file_list") or [])
    async with connection(state.pool) as acquired:
        found = await client_files.read(acquired, caller.id, set(wanted.values()))
    if len(found) < len(set(wanted.values())):
        raise NotFound("One or more of the specified files is missing/unavailable")
    files, main = name_main(
        language,
        source_name(spec.get("sourcefilename") or ""),
        spec["sourcecode"].encode(),
        {name: found[each] for name, each in wanted.items()},
    )
    return ExecuteRequest(
        language=language.id,
        files=files,
        main=main,
        stdin=(spec.get("input") or "").encode(),
        args=words(parameters, "runargs"),
        limits=limits_of(parameters, state.executions.accept.most),
        options=ExecutionOptions(
            compile_args=(*words(parameters, "compileargs"), *words(parameters, "linkargs")),
            interpreter_args=words(parameters, "interpreterargs"),
        ),
        client={"api": "jobe"},
    )


def check_spec(spec: Object) -> None:
    for name in ("sourcecode", "language_id"):
        if spec.get(name) is None:
            raise Refused(f"run_spec is missing the required attribute '{name}'")
    for name in ("sourcecode", "language_id", "sourcefilename", "input"):
        if not isinstance(spec.get(name), str | None):
            raise Refused(f"The attribute '{name}' of run_spec must be a string")
    for name in ("file_list", "parameters"):
        if not isinstance(spec.get(name), list | dict | None):
            raise Refused(f"The attribute '{name}' of run_spec is invalid")
    refuse_unknown(spec, SPEC_FIELDS, "attribute")


def check_parameters(language: Language, parameters: Any) -> None:
    if not isinstance(parameters, dict):
        raise Refused("The attribute 'parameters' of run_spec must be an object")
    refuse_unknown(parameters, {"cputime", *SIZES, *ARGUMENTS, *OF_CODERUNNER}, "parameter")
    if parameters.get("interpreterargs") and compiles(language):
        raise Refused(f"{language.name} is compiled: leave interpreterargs out")
    if not compiles(language) and (parameters.get("compileargs") or parameters.get("linkargs")):
        raise Refused(f"{language.name} is not compiled: leave compileargs and linkargs out")


def words(parameters: Object, name: str) -> list[str]:
    """Jobe joins arguments to a command line, so one of them may have several words."""
    try:
        return shlex.split(" ".join(text_list(parameters.get(name), name)))
    except ValueError:
        raise Refused(f"{name} have an open quotation mark") from None


def refuse_unknown(given: Object, known: set[str], what: str) -> None:
    for name, value in given.items():
        if name not in known and value is not None:
            raise Refused(f"The {what} '{name[:100]}' is not supported here: leave it out")


def wanted_files(listed: Any) -> dict[str, str]:
    """The ids of files, by the names that they get."""
    wanted: dict[str, str] = {}
    for each in listed:
        if not isinstance(each, list) or len(each) not in {2, 3}:
            raise Refused("Invalid file specifier: send [id, name]")
        identifier, name = each[:2]
        if not isinstance(identifier, str) or not FILE_ID.fullmatch(identifier):
            raise Refused("Invalid file specifier: the id is invalid")
        if not isinstance(name, str) or not FILE_NAME.fullmatch(name):
            raise Refused("Invalid file specifier: the name is invalid")
        wanted[name] = identifier
    return wanted


def source_name(given: str) -> str:
    """CodeRunner sends prog.java for all programs in Java, which Jobe ignores, too."""
    if given in {"", "prog.java"}:
        return ""
    if "/" in given or given.startswith((".", "-")):
        raise Refused("The sourcefilename for the run_spec is illegal")
    return given


def limits_of(parameters: Object, most: ExecutionLimits) -> ExecutionLimits:
    """Zero means no limit, which is the operator's ceiling here."""
    limits = lower_of(DEFAULTS, most)
    seconds = number(parameters, "cputime")
    if seconds is not None:
        cpu_ms = math.ceil(seconds * 1000) or most.cpu_ms
        if cpu_ms > most.cpu_ms:
            raise Refused(
                "cputime exceeds maximum allowed on this Jobe server "
                f"({most.cpu_ms / 1000:g} secs)"
            )
        limits = replace(limits, cpu_ms=cpu_ms, wall_ms=min(WALL_FACTOR * cpu_ms, most.wall_ms))
    for name, (field, unit) in SIZES.items():
        value = number(parameters, name)
        if value is None:
            continue
        ceiling = getattr(most, field)
        if value * unit > ceiling:
            raise Refused(f"{name} exceeds the maximum of {ceiling / unit:g} on this server")
        limits = replace(limits, **{field: math.ceil(value * unit) or ceiling})
    return limits


def number(parameters: Object, name: str) -> float | None:
    value = parameters.get(name)
    if value is None:
        return None
    if isinstance(value, str) and re.fullmatch(r"\d{1,9}(\.\d{1,6})?", value):
        value = float(value)
    if not is_number(value) or not 0 <= value < 1e9:
        raise Refused(f"The parameter '{name}' must be a number that is not negative")
    return float(value)


def result_of(shown: ShownExecution) -> Object:
    view, result = shown.view, shown.view.result
    if result is None:
        error = error_of(view)
        stderr = error[1] if error else "The execution was cancelled."
        return result_object(view.id, INTERNAL_ERROR, stderr=stderr)
    if result.status is RunStatus.COMPILE_ERROR:
        said = result.compile.output if result.compile else ""
        return result_object(
            view.id, COMPILE_ERROR, cmpinfo=said or message_of(result, view.limits)
        )
    stderr = clean(shown.output.get(Stream.STDERR, b""))
    outcome = outcome_of(result, stderr)
    if outcome == RUNTIME_ERROR and not stderr:
        stderr = message_of(result, view.limits) + "\n"
    stdout = clean(shown.output.get(Stream.STDOUT, b""))
    return result_object(view.id, outcome, stdout=stdout, stderr=stderr)


def outcome_of(result: ExecutionResult, stderr: str) -> int:
    if result.status in TIMEOUTS:
        return TIME_LIMIT
    return {
        # As in Jobe: a program that writes to stderr has failed.
        RunStatus.OK: RUNTIME_ERROR if stderr else SUCCESS,
        RunStatus.MEMORY_LIMIT: MEMORY_LIMIT,
        RunStatus.FORBIDDEN_SYSCALL: ILLEGAL_SYSCALL,
        RunStatus.INTERNAL_ERROR: INTERNAL_ERROR,
        RunStatus.CANCELLED: INTERNAL_ERROR,
    }.get(result.status, RUNTIME_ERROR)


def result_object(
    run_id: str | None, outcome: int, *, cmpinfo: str = "", stdout: str = "", stderr: str = ""
) -> Object:
    return {
        "run_id": run_id,
        "outcome": outcome,
        "cmpinfo": cmpinfo,
        "stdout": stdout,
        "stderr": stderr,
    }


def clean(output: bytes) -> str:
    r"""Text as it is; in anything else, bytes that are not printable ASCII become \xNN."""
    try:
        return output.decode()
    except UnicodeDecodeError:
        kept = b"\n\r\t"
        return "".join(
            chr(byte) if 0x20 <= byte <= 0x7E or byte in kept else f"\\x{byte:02x}"
            for byte in output
        )


def answer_error(fault: DeemsterError) -> Response:
    kind = kind_of(type(fault))
    if isinstance(fault, Unauthorised):
        # CodeRunner takes 401 for a limit that is reached.
        return JSONResponse(str(fault), 403)
    status = 400 if kind.status in {409, 413, 415, 422} else kind.status
    message = kind.detail if isinstance(fault, Unavailable) and kind.detail else str(fault)
    return JSONResponse(message or kind.title, status, dict(kind.headers))


async def unknown_path(_request: Request) -> Response:
    return JSONResponse("Not Found", 404)


routes: Final[list[BaseRoute]] = [
    *(
        DirectRoute(
            JOBE_PREFIX + path, answering_errors(endpoint, answer_error), methods=[method]
        )
        for method, path, endpoint in (
            ("GET", "/languages", languages),
            ("POST", "/runs", run),
            ("GET", "/files/{id}", find_file),
            ("PUT", "/files/{id}", put_file),
        )
    ),
    DirectRoute(JOBE_ROOT + OTHER_PATHS, unknown_path, methods=list(METHODS)),
]
"""A HEAD request for a file is answered as a GET request."""
