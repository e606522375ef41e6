"""Piston's request fields: their checks, in its own words, and the execution they ask for."""

import base64
import binascii
import math
from dataclasses import replace
from typing import Final

from deemster.api.compat.request_json import Object, is_number, text_list
from deemster.api.compat.runnable_languages import compiles
from deemster.api.compat.source_names import name_main
from deemster.domain.errors import Refused
from deemster.domain.execution import ExecutionLimits, ExecutionOptions, ProgramIo
from deemster.domain.language import Language
from deemster.domain.limits import MIB
from deemster.pipeline.accept.executions import ExecuteRequest, ExecutionAccept

RUN_MS: Final = 3_000
COMPILE_MS: Final = 10_000
"""Piston's defaults."""
NO_LIMIT: Final = -1
ENCODINGS: Final = ("utf8", "base64", "hex")


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
        if not isinstance(file.get("name"), str | None):
            raise Refused(f"files[{number}].name must be a string")
        if (file.get("encoding") or "utf8") not in ENCODINGS:
            raise Refused(f"files[{number}].encoding must be one of {', '.join(ENCODINGS)}")
    if not any((file.get("encoding") or "utf8") == "utf8" for file in files):
        raise Refused("files must include at least one utf8 encoded file")
    if not isinstance(body.get("stdin"), str | None):
        raise Refused("stdin must be a string")
    text_list(body.get("args"), "args")


def execute_request(
    accept: ExecutionAccept,
    language: Language,
    body: Object,
    io: ProgramIo = ProgramIo.BATCH,
) -> ExecuteRequest:
    files, main = source_files(language, body["files"])
    limits, options = limits_of(accept, language, body, io)
    return ExecuteRequest(
        language=language.id,
        files=files,
        main=main,
        stdin=stdin_of(body, io),
        args=text_list(body.get("args"), "args"),
        io=io,
        limits=limits,
        options=options,
        client={"api": "piston"},
    )


def stdin_of(body: Object, io: ProgramIo) -> bytes:
    """Input that is typed later may follow upon none."""
    stdin: str = body.get("stdin") or ""
    is_complete = stdin.endswith("\n") or (io is not ProgramIo.BATCH and not stdin)
    return (stdin if is_complete else stdin + "\n").encode()


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
    accept: ExecutionAccept, language: Language, body: Object, io: ProgramIo
) -> tuple[ExecutionLimits, ExecutionOptions]:
    """Piston's defaults; but a program whose input is typed may wait for it."""
    default, most = accept.default_for(io), accept.ceiling_for(io)
    usual_ms = min(RUN_MS, most.wall_ms) if io is ProgramIo.BATCH else most.wall_ms
    wall_ms = limit(body, "run_timeout", usual_ms, most.wall_ms)
    usual_ms = wall_ms if io is ProgramIo.BATCH else RUN_MS
    cpu_ms = limit(body, "run_cpu_time", min(usual_ms, most.cpu_ms), most.cpu_ms)
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
    if value in {0, NO_LIMIT}:
        return most
    if value > most:
        raise Refused(f"{name} cannot exceed the configured limit of {most}")
    if value < 0:
        raise Refused(f"{name} must be non-negative")
    if value < least:
        raise Refused(f"{name} must be at least {least}")
    return math.ceil(value)
