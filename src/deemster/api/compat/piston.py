"""The API of Piston v2 over HTTP, as a translation to executions."""

import base64
import binascii
import math
from dataclasses import replace
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from deemster.api.authentication import BEARER
from deemster.api.compat import piston_stages
from deemster.api.compat.semver import Version, satisfies, version_in
from deemster.api.compat.translation import (
    QUEUE_S,
    Object,
    answering_errors,
    compiles,
    installed,
    is_number,
    name_main,
    output_in_order,
    read_object,
    run_to_end,
    text_list,
    with_bearer,
)
from deemster.api.http.direct_route import DirectRoute
from deemster.api.http.errors import NoWorkers, Overloaded, WrongMedia, kind_of
from deemster.api.permissions import PISTON_PREFIXES
from deemster.api.state import AppState, app_state
from deemster.domain.account import Account
from deemster.domain.errors import DeemsterError, LimitReached, Refused, Unavailable
from deemster.domain.execution import ExecutionLimits, ExecutionOptions
from deemster.domain.language import Language
from deemster.domain.limits import MIB
from deemster.pipeline.accept.executions import ExecuteRequest

RUN_MS: Final = 3_000
COMPILE_MS: Final = 10_000
"""Piston's defaults."""
NO_LIMIT: Final = -1
ENCODINGS: Final = ("utf8", "base64", "hex")
PACKAGES: Final = (
    "This server installs no packages: its operator installs languages on the workers."
)


async def runtimes(request: Request) -> Response:
    await caller_of(request)
    state = app_state(request)
    versions = await installed(state)
    return JSONResponse(
        [
            {
                "language": language.id,
                "version": written(version),
                "aliases": list(language.aliases),
            }
            for language in state.dependencies.catalogue
            for version in sorted(numbers_of(versions.get(language.id, [])))
        ]
    )


async def packages(request: Request) -> Response:
    await caller_of(request)
    state = app_state(request)
    versions = await installed(state)
    return JSONResponse(
        [
            {"language": language.id, "language_version": written(version), "installed": True}
            for language in state.dependencies.catalogue
            for version in sorted(numbers_of(versions.get(language.id, [])))
        ]
    )


async def change_packages(request: Request) -> Response:
    await caller_of(request)
    raise Refused(PACKAGES)


async def unknown_path(_request: Request) -> Response:
    return JSONResponse({"message": "Not Found"}, 404)


async def execute(request: Request) -> Response:
    caller = await caller_of(request)
    if not request.headers.get("content-type", "").lower().startswith("application/json"):
        raise WrongMedia("requests must be of type application/json")
    state = app_state(request)
    body = await read_object(request)
    check_fields(body)
    language, version = await find_runtime(state, body["language"], body["version"])
    asked = execute_request(state, language, body)
    compile_ms = asked.options.compile_wall_ms or 0
    wait_s = (compile_ms + asked.limits.wall_ms) / 1000 + QUEUE_S
    shown = await run_to_end(request, caller, asked, wait_s)
    if shown is None:
        raise Overloaded("The program did not get its turn: too many others are waiting.")
    output = await output_in_order(state, shown.view.id)
    answer: Object = {"language": language.id, "version": written(version)}
    compiled = piston_stages.compile_stage(language, shown.view)
    if compiled is not None:
        answer["compile"] = compiled
    return JSONResponse(
        {**answer, "run": piston_stages.run_stage(language, shown, output, compiled)}
    )


async def caller_of(request: Request) -> Account:
    return await BEARER(with_bearer(request))


def check_fields(body: Object) -> None:
    """In the order and the words of Piston."""
    for name in ("language", "version"):
        if not isinstance(body.get(name), str) or not body[name]:
            raise Refused(f"{name} is required as a string")
    files = body.get("files")
    if not isinstance(files, list):
        raise Refused("files is required as an array")
    for number, file in enumerate(files):
        if not isinstance(file, dict) or not isinstance(file.get("content"), str):
            raise Refused(f"files[{number}].content is required as a string")
        if not isinstance(file.get("name") or "", str):
            raise Refused(f"files[{number}].name must be a string")
        if (file.get("encoding") or "utf8") not in ENCODINGS:
            raise Refused(f"files[{number}].encoding must be one of {', '.join(ENCODINGS)}")
    if not any((file.get("encoding") or "utf8") == "utf8" for file in files):
        raise Refused("files must include at least one utf8 encoded file")
    if not isinstance(body.get("stdin") or "", str):
        raise Refused("stdin must be a string")
    text_list(body.get("args"), "args")


async def find_runtime(state: AppState, name: str, wanted: str) -> tuple[Language, Version]:
    unknown = Refused(f"{name}-{wanted} runtime is unknown")
    versions = await installed(state)
    if not versions:
        raise NoWorkers("No worker takes jobs, so nothing can be run: try again later.")
    try:
        language = state.dependencies.catalogue.named(name)
    except Refused:
        raise unknown from None
    present = numbers_of(versions.get(language.id, []))
    matching = [each for each in present if satisfies(each, wanted)]
    if not matching:
        raise unknown
    if len(matching) < len(present):
        # Any worker may run the program, so the range must include all versions.
        others = ", ".join(written(each) for each in sorted(present - set(matching)))
        raise Refused(f"{name}-{wanted} can't be chosen: some workers have {others}")
    return language, max(matching)


def execute_request(state: AppState, language: Language, body: Object) -> ExecuteRequest:
    accept = state.executions.accept
    files, main = source_files(language, body["files"])
    stdin = body.get("stdin") or ""
    limits, options = limits_of(language, body, accept.default_limits, accept.most)
    return ExecuteRequest(
        language=language.id,
        files=files,
        main=main,
        stdin=(stdin if stdin.endswith("\n") else stdin + "\n").encode(),
        args=text_list(body.get("args"), "args"),
        limits=limits,
        options=options,
        client={"api": "piston"},
    )


def source_files(
    language: Language, files: list[Object]
) -> tuple[dict[str, bytes], str | None]:
    contents: dict[str, bytes] = {}
    main = None
    for number, file in enumerate(files):
        name = file.get("name") or f"file{number}.code"
        if name in contents:
            raise Refused(f"two files have the name {name!r}: rename one")
        contents[name] = decoded(file, number)
        if main is None and (file.get("encoding") or "utf8") == "utf8":
            main = name
    assert main is not None, "check_fields requires a utf8 file"
    return name_main(language, main, contents.pop(main), contents)


def decoded(file: Object, number: int) -> bytes:
    content: str = file["content"]
    encoding = file.get("encoding") or "utf8"
    try:
        if encoding == "base64":
            return base64.b64decode("".join(content.split()), validate=True)
        return bytes.fromhex(content) if encoding == "hex" else content.encode()
    except (binascii.Error, ValueError):
        raise Refused(f"files[{number}].content is not valid {encoding}") from None


def limits_of(
    language: Language, body: Object, default: ExecutionLimits, most: ExecutionLimits
) -> tuple[ExecutionLimits, ExecutionOptions]:
    wall_ms = limit(body, "run_timeout", min(RUN_MS, most.wall_ms), most.wall_ms)
    cpu_ms = limit(body, "run_cpu_time", min(wall_ms, most.cpu_ms), most.cpu_ms)
    memory = limit(body, "run_memory_limit", most.memory_bytes, most.memory_bytes, MIB)
    limits = replace(default, wall_ms=wall_ms, cpu_ms=cpu_ms, memory_bytes=memory)
    step = language.compile
    if step is None or not compiles(language):
        return limits, ExecutionOptions()
    own = step.limits
    compile_ms = limit(body, "compile_timeout", min(COMPILE_MS, own.wall_ms), own.wall_ms)
    compile_cpu_ms = limit(body, "compile_cpu_time", compile_ms, own.wall_ms)
    compile_memory = limit(
        body, "compile_memory_limit", own.memory_bytes, own.memory_bytes, MIB
    )
    return limits, ExecutionOptions(
        compile_wall_ms=min(compile_ms, compile_cpu_ms), compile_memory_bytes=compile_memory
    )


def limit(body: Object, name: str, default: int, most: int, least: int = 1) -> int:
    value: object = body.get(name)
    if value is None:
        return default
    if not is_number(value):
        raise Refused(f"If specified, {name} must be a number")
    if value == NO_LIMIT:
        return most
    if value > most:
        raise Refused(f"{name} cannot exceed the configured limit of {most}")
    if value < 0:
        raise Refused(f"{name} must be non-negative")
    if value < least:
        raise Refused(f"{name} must be at least {least}")
    return math.ceil(value)


def numbers_of(versions: list[str]) -> set[Version]:
    """A worker may name a version without a number."""
    return {version_in(each) or (0, 0, 0) for each in versions}


def written(version: Version) -> str:
    return ".".join(map(str, version))


def answer_error(fault: DeemsterError) -> Response:
    kind = kind_of(type(fault))
    status = 400 if kind.status in {409, 422} else kind.status
    headers = dict(kind.headers)
    if isinstance(fault, LimitReached | Overloaded):
        headers["Retry-After"] = str(max(1, math.ceil(fault.retry_after_s)))
    message = kind.detail if isinstance(fault, Unavailable) and kind.detail else str(fault)
    return JSONResponse({"message": message or kind.title}, status, headers)


ENDPOINTS: Final = (
    ("GET", "/runtimes", runtimes),
    ("POST", "/execute", execute),
    ("GET", "/packages", packages),
    ("POST", "/packages", change_packages),
    ("DELETE", "/packages", change_packages),
)
OTHERS: Final = "/{path:path}"
METHODS: Final = ("DELETE", "GET", "PATCH", "POST", "PUT")

routes: Final[list[BaseRoute]] = [
    *(
        DirectRoute(
            prefix + path + slash, answering_errors(endpoint, answer_error), methods=[method]
        )
        for prefix in PISTON_PREFIXES
        for method, path, endpoint in ENDPOINTS
        for slash in ("", "/")
    ),
    DirectRoute(PISTON_PREFIXES[0] + OTHERS, unknown_path, methods=list(METHODS)),
]
