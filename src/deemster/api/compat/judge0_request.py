"""Judge0's request fields: their defaults, their bounds, and the execution they ask for."""

import base64
import math
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from deemster.api.compat.judge0_archive import BadArchive, decode, unzip
from deemster.api.compat.judge0_languages import Judge0Language
from deemster.api.compat.request_json import is_number
from deemster.api.models.submissions import check_web_address
from deemster.domain.execution import ExecutionLimits, ExecutionOptions
from deemster.domain.webhook import WebhookFormat
from deemster.pipeline.accept.executions import ExecuteRequest
from deemster.pipeline.deliver.judge0_format import (
    COMPILE_FAILED,
    COMPILE_OUTPUT,
    MULTI_FILE_MAIN,
)
from deemster.public_addresses import is_plainly_private

API: Final = "judge0"
"""Name of this API in the data that is kept with an execution."""
MAX_OPTIONS_CHARS: Final = 512
MAX_URL_CHARS: Final = 2048

RUN_SCRIPTS: Final = ("run.sh", "run")
"""The first of these is run; and before it, the same with compile."""
MULTI_FILE_SCRIPT: Final = f"""
for each in compile.sh compile; do
    [ -f "$each" ] || continue
    if ! bash "./$each" < /dev/null > {COMPILE_OUTPUT} 2>&1; then
        echo > {COMPILE_FAILED}
        exit 1
    fi
    break
done
[ ! -f run.sh ] || exec bash ./run.sh "$@"
exec bash ./run "$@"
""".encode()


class InvalidFields(Exception):
    """Some fields of a submission are not valid; the answer has the errors of each."""

    def __init__(self, errors: Mapping[str, list[str]]) -> None:
        super().__init__(str(errors))
        self.errors = errors


@dataclass(frozen=True, slots=True)
class Number:
    default: float
    least: float
    most: float
    is_decimal: bool = False


def numbers(most: ExecutionLimits) -> dict[str, Number]:
    """Judge0's own defaults and maxima, or the operator's ceiling where that is lower."""
    cpu_s, wall_s = most.cpu_ms / 1000, most.wall_ms / 1000
    memory_kb, stack_kb = most.memory_bytes // 1024, most.stack_bytes // 1024
    file_kb = min(most.file_bytes, most.output_bytes) // 1024
    found = {
        "number_of_runs": Number(1, 1, 20),
        "cpu_time_limit": Number(5, 0, min(15, cpu_s), is_decimal=True),
        "cpu_extra_time": Number(1, 0, 5, is_decimal=True),
        "wall_time_limit": Number(10, 1, min(20, wall_s), is_decimal=True),
        "memory_limit": Number(128000, 2048, min(512000, memory_kb)),
        "stack_limit": Number(64000, 0, min(128000, stack_kb)),
        "max_processes_and_or_threads": Number(60, 1, min(120, most.processes)),
        "max_file_size": Number(1024, 0, min(4096, file_kb)),
    }
    return {
        name: Number(min(each.default, each.most), each.least, each.most, each.is_decimal)
        for name, each in found.items()
    }


NEVER: Final = {
    "enable_network": "programs have no network access here",
    "enable_per_process_and_thread_time_limit": "limits hold for all processes together",
    "enable_per_process_and_thread_memory_limit": "limits hold for all processes together",
}
"""Options that can't be enabled, with the reason."""
FALSE: Final = (None, False, 0, "", "0", "f", "F", "false", "False", "FALSE", "off", "OFF")


class RequestReader:
    """Reads the fields of one submission, and collects what is wrong with them."""

    def __init__(self, fields: Mapping[str, Any], *, as_base64: bool) -> None:
        self._fields = fields
        self._as_base64 = as_base64
        self.errors: dict[str, list[str]] = {}

    def refuse(self, name: str, message: str) -> None:
        self.errors.setdefault(name, []).append(message)

    def string(self, name: str) -> str | None:
        """Numbers are taken for text, as in Judge0."""
        value = self._fields.get(name)
        if value is None or isinstance(value, str):
            return value
        if is_number(value):
            return str(value)
        self.refuse(name, "is not a string")
        return None

    def text(self, name: str) -> bytes | None:
        """A field that is in base64 if the request says so."""
        value = self.string(name)
        if value is None:
            return None
        return decode(value.encode()) if self._as_base64 else value.encode()

    def options(self, name: str) -> tuple[str | None, list[str]]:
        """The field, and its words as a shell splits them."""
        value = self.string(name)
        if value is None:
            return None, []
        if len(value) > MAX_OPTIONS_CHARS:
            self.refuse(name, f"is too long (maximum is {MAX_OPTIONS_CHARS} characters)")
            return None, []
        try:
            return value, shlex.split(value)
        except ValueError:
            self.refuse(name, "has an open quotation mark")
            return None, []

    def number(self, name: str, bounds: Number) -> float:
        value = self._fields.get(name)
        if value is None:
            return bounds.default
        try:
            found = float(value)
        except (TypeError, ValueError, OverflowError):
            found = float("nan")
        if math.isnan(found) or isinstance(value, bool):
            self.refuse(name, "is not a number")
        elif found < bounds.least:
            self.refuse(name, f"must be greater than or equal to {bounds.least:g}")
        elif found > bounds.most:
            self.refuse(name, f"must be less than or equal to {bounds.most:g}")
        else:
            return found if bounds.is_decimal else int(found)
        return bounds.default

    def flag(self, name: str) -> bool:
        value = self._fields.get(name)
        if isinstance(value, list | dict):
            self.refuse(name, "is not true or false")
            return False
        wanted = not any(value is each or value == each for each in FALSE)
        if wanted and name in NEVER:
            self.refuse(name, f"this option cannot be enabled: {NEVER[name]}")
        return wanted

    def url(self, name: str, *, allow_private: bool) -> str | None:
        """Refuses plainly private addresses early; the delivery checks all addresses (H3)."""
        value = self._fields.get(name)
        if value is None or value == "":
            return None
        try:
            url = check_web_address(value if isinstance(value, str) else "")
        except ValueError as fault:
            self.refuse(name, str(fault))
            return None
        if len(url) > MAX_URL_CHARS:
            self.refuse(name, f"is too long (maximum is {MAX_URL_CHARS} characters)")
        elif not allow_private and is_plainly_private(url):
            self.refuse(name, "is a private address: use a public one")
        return url

    def files(self) -> dict[str, bytes]:
        """The files of the archive, which is always in base64."""
        value = self.string("additional_files")
        if not value:
            return {}
        try:
            return unzip(decode(value.encode()))
        except BadArchive as fault:
            self.refuse("additional_files", str(fault))
            return {}


def execute_request(
    fields: Mapping[str, Any],
    *,
    as_base64: bool,
    find_language: Callable[[int], Judge0Language | None],
    most: ExecutionLimits,
    allow_private: bool = False,
) -> ExecuteRequest:
    """Raises `InvalidFields` with all that is wrong.

    `allow_private` allows callbacks to private addresses.
    """
    reader = RequestReader(fields, as_base64=as_base64)
    language = read_language(reader, fields.get("language_id"), find_language)
    source, stdin = reader.text("source_code"), reader.text("stdin")
    expected = reader.text("expected_output")
    values = {name: reader.number(name, each) for name, each in numbers(most).items()}
    compiler_options, compile_args = reader.options("compiler_options")
    arguments, args = reader.options("command_line_arguments")
    flags = {name: reader.flag(name) for name in (*NEVER, "redirect_stderr_to_stdout")}
    files = reader.files()
    callback_url = reader.url("callback_url", allow_private=allow_private)
    main = ""
    if language is not None:
        if compile_args and not language.takes_compiler_options:
            reader.refuse(
                "compiler_options",
                f"setting compiler options for {language.name} is not allowed",
            )
        main = add_source(reader, language, source or b"", files)
    if reader.errors or language is None:
        raise InvalidFields(reader.errors)
    return ExecuteRequest(
        language=language.language.id,
        files=files,
        main=main,
        stdin=stdin or b"",
        args=args,
        limits=to_limits(values, most),
        options=ExecutionOptions(
            compile_args=compile_args,
            runs=int(values["number_of_runs"]),
            stderr_to_stdout=flags["redirect_stderr_to_stdout"],
            return_files=[COMPILE_OUTPUT, COMPILE_FAILED] if language.is_multi_file else (),
            return_changed_files=True,
            all_tools=language.is_multi_file,  # its scripts start compilers
        ),
        client={
            "api": API,
            "language": language.summary(),
            "checks_syntax": not language.takes_compiler_options,
            "expected_output": None
            if expected is None
            else base64.b64encode(expected).decode(),
            "compiler_options": printable(compiler_options),
            "command_line_arguments": printable(arguments),
            **values,
            **flags,
        },
        webhook_url=callback_url,
        webhook_format=WebhookFormat.JUDGE0,
    )


def read_language(
    reader: RequestReader, value: object, find: Callable[[int], Judge0Language | None]
) -> Judge0Language | None:
    if value is None or value == "":
        reader.refuse("language_id", "can't be blank")
        return None
    number = int(value) if isinstance(value, str) and re.fullmatch(r"\d{1,9}", value) else value
    found = find(number) if type(number) is int else None
    if found is None:
        shown = (
            str(value)[:20] if isinstance(value, str) or is_number(value) else "of this type"
        )
        reader.refuse("language_id", f"language with id {shown} doesn't exist")
    return found


def add_source(
    reader: RequestReader, language: Judge0Language, source: bytes, files: dict[str, bytes]
) -> str:
    """Adds the source to the files, and returns its name; a file of the archive gives way."""
    if not language.is_multi_file:
        if not source and "source_code" not in reader.errors:
            reader.refuse("source_code", "can't be blank")
        text = source.decode(errors="replace")
        name = language.language.file_name(language.source_file, text)
        files[name] = source
        return name
    if source:
        reader.refuse("source_code", "should be blank for multi-file programs")
    if not files:
        reader.refuse("additional_files", "can't be blank")
    elif files.keys().isdisjoint(RUN_SCRIPTS):
        reader.refuse("additional_files", "has no script with the name run")
    files[MULTI_FILE_MAIN] = MULTI_FILE_SCRIPT
    return MULTI_FILE_MAIN


def to_limits(values: Mapping[str, float], most: ExecutionLimits) -> ExecutionLimits:
    """A limit of 0 means none in Judge0; then the operator's ceiling holds."""
    wall_ms = round(values["wall_time_limit"] * 1000)
    file_bytes = int(values["max_file_size"]) * 1024
    return ExecutionLimits(
        wall_ms=wall_ms,
        cpu_ms=round(values["cpu_time_limit"] * 1000) or min(wall_ms, most.cpu_ms),
        memory_bytes=int(values["memory_limit"]) * 1024,
        processes=int(values["max_processes_and_or_threads"]),
        output_bytes=file_bytes or most.output_bytes,
        file_bytes=file_bytes or most.file_bytes,
        stack_bytes=int(values["stack_limit"]) * 1024,
        cores=most.cores,
    )


def printable(text: str | None) -> str | None:
    """The database keeps no NUL characters in JSON."""
    return None if text is None else text.replace("\0", "")
