"""The API of Piston v2: every route, field, status and error that its clients know."""

import base64
import json
from dataclasses import replace
from typing import Any

import pytest

from deemster.api.compat.piston_stages import compile_stage, run_stage
from deemster.domain.execution import CompileResult, ExecutionResult, Stream
from deemster.domain.lifecycle import State
from deemster.domain.limits import MIB
from deemster.domain.run_status import RunStatus
from deemster.domain.source import unpack_files
from deemster.store.pool import Pool, connection
from tests.api.compat.conftest import (
    COMPILED,
    GOOD,
    SettlingWorker,
    add_worker,
    compatible,
    shown,
)
from tests.api.conftest import CATALOGUE, Api, MakeDependencies

EXECUTE = "/api/v2/execute"
PACKAGES = "/api/v2/packages"
C, PYTHON = CATALOGUE.named("c"), CATALOGUE.named("python3")
PROGRAM: dict[str, Any] = {
    "language": "python",
    "version": "*",
    "files": [{"content": "print(1)"}],
}
PATHS = [
    prefix + slash for prefix in ("/api/v2/{}", "/api/v2/piston/{}") for slash in ("", "/")
]


async def test_runtimes_and_packages_are_listed_on_all_paths(
    ada: Api, worker: SettlingWorker
) -> None:
    for path in PATHS:
        answer = await ada.get(path.format("runtimes"))
        assert answer.status_code == 200
        listed = {each["language"]: each for each in answer.json()}
        assert set(listed) == {"c", "javascript", "python"}
        assert listed["c"]["version"] == "12.2.0"
        assert {"python3", "py"} <= set(listed["python"]["aliases"])
        answer = await ada.get(path.format("packages"))
        assert {"language": "python", "language_version": "3.11.2", "installed": True} in (
            answer.json()
        )
        for method in ("POST", "DELETE"):
            body = {"language": "python", "version": "3"}
            change = await ada.client.request(
                method, path.format("packages"), json=body, headers=ada.user.headers
            )
            assert change.status_code == 400
            assert "installs no packages" in change.json()["message"]


async def test_a_program_is_run_on_all_paths(ada: Api, worker: SettlingWorker) -> None:
    output = [(Stream.STDOUT, b"1\n"), (Stream.STDERR, b"e\n"), (Stream.STDOUT, b"2\n")]
    for path in PATHS:
        answer, _ = await worker.answer(ada.post(path.format("execute"), PROGRAM), GOOD, output)
        assert answer.status_code == 200
        assert answer.json() == {
            "language": "python",
            "version": "3.11.2",
            "run": {
                "stdout": "1\n2\n",
                "stderr": "e\n",
                "output": "1\ne\n2\n",
                "code": 0,
                "signal": None,
                "memory": 2048 * 1024,
                "message": None,
                "status": None,
                "cpu_time": 12,
                "wall_time": 21,
            },
        }


async def test_long_output_stays_in_order(ada: Api, worker: SettlingWorker) -> None:
    output = [(Stream(1 + number % 2), b"%d\n" % number) for number in range(450)]
    answer, _ = await worker.answer(ada.post(EXECUTE, PROGRAM), GOOD, output)
    expected = "".join(f"{number}\n" for number in range(450))
    assert answer.json()["run"]["output"] == expected


async def test_every_field_reaches_the_execution(ada: Api, worker: SettlingWorker) -> None:
    body = {
        "language": "gcc",
        "version": ">=12 <13",
        "files": [
            {"name": "start.c", "content": "int main() {}"},
            {
                "name": "lib/x.bin",
                "content": base64.b64encode(b"\xff").decode(),
                "encoding": "base64",
            },
            {"content": "00fe", "encoding": "hex"},
            {"name": "", "content": "é", "encoding": "utf8"},
        ],
        "stdin": "in",
        "args": ["a b", ""],
        "run_timeout": 2000,
        "run_cpu_time": 1500,
        "run_memory_limit": 64 * MIB,
        "compile_timeout": 9000,
        "compile_cpu_time": 8000,
        "compile_memory_limit": 100 * MIB,
    }
    result = replace(GOOD, compile=COMPILED)
    answer, details = await worker.answer(ada.post(EXECUTE, body), result)
    assert answer.json()["compile"]["stderr"] == "a warning"
    assert unpack_files(details.files) == {
        "start.c": b"int main() {}",
        "lib/x.bin": b"\xff",
        "file2.code": b"\x00\xfe",
        "file3.code": "é".encode(),
    }
    assert (details.main, details.language) == ("start.c", "c")
    assert (details.stdin, list(details.args)) == (b"in\n", ["a b", ""])
    limits, options = details.limits, details.options
    assert (limits.wall_ms, limits.cpu_ms, limits.memory_bytes) == (2000, 1500, 64 * MIB)
    assert (options.compile_wall_ms, options.compile_memory_bytes) == (8000, 100 * MIB)


async def test_defaults_are_those_of_piston_and_zero_or_minus_one_is_the_ceiling(
    ada: Api, worker: SettlingWorker
) -> None:
    _, details = await worker.answer(ada.post(EXECUTE, PROGRAM))
    assert (details.limits.wall_ms, details.limits.cpu_ms) == (3000, 3000)
    assert details.limits.memory_bytes == 512 * MIB
    assert (details.stdin, unpack_files(details.files)) == (b"\n", {"main.py": b"print(1)"})
    unlimited = {"run_memory_limit": -1, "run_timeout": 0, "compile_memory_limit": -1}
    _, details = await worker.answer(ada.post(EXECUTE, {**PROGRAM, **unlimited, "stdin": "\n"}))
    assert (details.limits.wall_ms, details.limits.memory_bytes) == (60_000, 512 * MIB)
    assert details.stdin == b"\n"


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in PROGRAM.items() if key != name}


def with_file(**file: object) -> dict[str, Any]:
    return {**PROGRAM, "files": [{"content": "x"}, file]}


REFUSED: list[tuple[object, str]] = [
    (without("language"), "language is required as a string"),
    ({**PROGRAM, "language": 3}, "language is required as a string"),
    (without("version"), "version is required as a string"),
    (without("files"), "files is required as an array"),
    ({**PROGRAM, "files": {}}, "files is required as an array"),
    ({**PROGRAM, "files": []}, "files must include at least one utf8 encoded file"),
    (with_file(name="x"), "files[1].content is required as a string"),
    ({**PROGRAM, "files": ["x"]}, "files[0].content is required as a string"),
    (with_file(content="x", name=5), "files[1].name must be a string"),
    (with_file(content="x", encoding="rot13"), "files[1].encoding must be one of"),
    (with_file(content="x", encoding=[1]), "files[1].encoding must be one of"),
    (with_file(content="%", encoding="base64"), "files[1].content is not valid base64"),
    (with_file(content="xy", encoding="hex"), "files[1].content is not valid hex"),
    (with_file(content="x", name="../x"), "can't be the name of a source file"),
    (with_file(content="x", name="main.py"), "two files have the name 'main.py'"),
    (with_file(content="x", name="file0.code"), "two files have the name 'file0.code'"),
    (
        {**PROGRAM, "files": [{"content": "AA==", "encoding": "base64"}]},
        "files must include at least one utf8 encoded file",
    ),
    ({**PROGRAM, "files": [{"content": ""}]}, "The source is empty"),
    ({**PROGRAM, "language": "klingon"}, "klingon-* runtime is unknown"),
    ({**PROGRAM, "language": "java"}, "java-* runtime is unknown"),
    ({**PROGRAM, "version": "2.x"}, "python-2.x runtime is unknown"),
    ({**PROGRAM, "stdin": 1}, "stdin must be a string"),
    ({**PROGRAM, "stdin": {}}, "stdin must be a string"),
    (with_file(content="x", name=False), "files[1].name must be a string"),
    (with_file(content="x", name="a\0b"), "can't be the name of a source file"),
    (with_file(content="x", name="/etc/x"), "can't be the name of a source file"),
    ({**PROGRAM, "files": [{"content": "1"}] * 300}, "at most 256 are allowed"),
    ({**PROGRAM, "language": "x" * 5000}, "x-* runtime is unknown"),
    ({**PROGRAM, "args": "x"}, "args must be an array of strings"),
    ({**PROGRAM, "args": ["a\0"]}, "NUL"),
    (
        {**PROGRAM, "run_timeout": 60_001},
        "run_timeout cannot exceed the configured limit of 60000",
    ),
    ({**PROGRAM, "run_timeout": 10**400}, "run_timeout cannot exceed"),
    ({**PROGRAM, "run_cpu_time": 1e9}, "run_cpu_time cannot exceed"),
    ({**PROGRAM, "run_memory_limit": 2**40}, "run_memory_limit cannot exceed"),
    ({**PROGRAM, "language": "c", "compile_timeout": 1e9}, "compile_timeout cannot exceed"),
    ({**PROGRAM, "language": "c", "compile_cpu_time": 1e9}, "compile_cpu_time cannot exceed"),
    (
        {**PROGRAM, "language": "c", "compile_memory_limit": 2**40},
        "compile_memory_limit cannot exceed",
    ),
    ({**PROGRAM, "run_timeout": "1"}, "If specified, run_timeout must be a number"),
    ({**PROGRAM, "run_timeout": True}, "If specified, run_timeout must be a number"),
    ({**PROGRAM, "run_timeout": -2}, "run_timeout must be non-negative"),
    ({**PROGRAM, "run_memory_limit": 5}, "run_memory_limit must be at least 1048576"),
    ([], "not a JSON object"),
]


async def test_a_bad_request_gets_pistons_message_and_leaves_nothing(
    ada: Api, worker: SettlingWorker, pool: Pool
) -> None:
    for body, message in REFUSED:
        answer = await ada.post(EXECUTE, body)
        assert answer.status_code == 400, (body, answer.text)
        assert message in answer.json()["message"], body
    async with connection(pool) as acquired:
        assert await acquired.fetchval("SELECT count(*) FROM work") == 0


async def test_errors_of_http_are_json_with_a_message(ada: Api, worker: SettlingWorker) -> None:
    client, headers = ada.client, ada.user.headers
    for method, path in (("POST", EXECUTE), ("POST", PACKAGES), ("DELETE", PACKAGES)):
        for media in ({}, {"Content-Type": "application/x-www-form-urlencoded"}):
            answer = await client.request(
                method, path, content="x=1", headers={**headers, **media}
            )
            assert answer.status_code == 415
            assert answer.json() == {"message": "requests must be of type application/json"}
    broken = {**headers, "content-type": "application/json"}
    for content in ("{", '{"a": "\\ud800"}', '{"a": NaN}', "[" * 100_000):
        answer = await client.post(EXECUTE, content=content, headers=broken)
        assert (answer.status_code, list(answer.json())) == (400, ["message"])
    for path in ("/api/v2/nothing", "/api/v2/piston/nothing", "/api/v2/"):
        answer = await client.get(path)
        assert (answer.status_code, answer.json()) == (404, {"message": "Not Found"})
    answer = await client.get(EXECUTE)
    assert (answer.status_code, answer.json()) == (404, {"message": "Not Found"})
    for wrong in ({}, {"Authorization": "Bearer nobody"}, {"Authorization": "nobody"}):
        answer = await client.post(EXECUTE, json=PROGRAM, headers=wrong)
        assert (answer.status_code, list(answer.json())) == (401, ["message"])


async def test_json_that_is_sent_as_text_is_taken(ada: Api, worker: SettlingWorker) -> None:
    """As by npm's piston-client."""
    headers = {**ada.user.headers, "Content-Type": "text/plain;charset=UTF-8"}
    request = ada.client.post(EXECUTE, content=json.dumps(PROGRAM), headers=headers)
    answer, _ = await worker.answer(request)
    assert answer.status_code == 200


async def test_a_server_without_workers_says_so(ada: Api) -> None:
    assert (await ada.get("/api/v2/runtimes")).json() == []
    answer = await ada.post(EXECUTE, PROGRAM)
    assert (answer.status_code, list(answer.json())) == (503, ["message"])


async def test_a_version_that_only_some_workers_have_cannot_be_chosen(
    ada: Api, worker: SettlingWorker, pool: Pool
) -> None:
    await add_worker(pool, {"python3": "CPython 3.13.1"})
    answer = await ada.post(EXECUTE, {**PROGRAM, "version": "3.11"})
    assert answer.status_code == 400
    assert "some workers have 3.13.1" in answer.json()["message"]
    answer, _ = await worker.answer(ada.post(EXECUTE, {**PROGRAM, "version": ">=3.11"}))
    assert answer.json()["version"] == "3.13.1"


async def test_d2_too_many_requests_get_429_with_a_message(
    make_dependencies: MakeDependencies, pool: Pool, worker: SettlingWorker
) -> None:
    async with compatible(make_dependencies, pool, executions_per_minute_user=1) as ada:
        await worker.answer(ada.post(EXECUTE, PROGRAM))
        answer = await ada.post(EXECUTE, PROGRAM)
    assert (answer.status_code, list(answer.json())) == (429, ["message"])
    assert int(answer.headers["retry-after"]) >= 1


async def test_an_api_that_is_not_named_is_not_there(
    make_dependencies: MakeDependencies, pool: Pool
) -> None:
    async with compatible(make_dependencies, pool) as ada:
        assert (await ada.get("/judge0/about")).status_code == 404


ENDINGS: dict[
    str, tuple[ExecutionResult, tuple[int | None, str | None, str | None, str | None]]
] = {
    "success": (GOOD, (0, None, None, None)),
    "exit code": (
        ExecutionResult(RunStatus.NONZERO_EXIT, exit_code=7),
        (7, None, "RE", "Exited with error status 7"),
    ),
    "signal": (
        ExecutionResult(RunStatus.SIGNALLED, signal=11),
        (None, "SIGSEGV", "SG", "Caught fatal signal 11"),
    ),
    "CPU time": (
        ExecutionResult(RunStatus.TIME_LIMIT, signal=9),
        (None, "SIGKILL", "TO", "Time limit exceeded"),
    ),
    "wall time": (
        ExecutionResult(RunStatus.WALL_LIMIT),
        (None, "SIGKILL", "TO", "Time limit exceeded (wall clock)"),
    ),
    "stdout": (
        ExecutionResult(RunStatus.OUTPUT_LIMIT, exit_code=0, stdout_truncated=True),
        (None, "SIGKILL", "OL", "stdout length exceeded"),
    ),
    "stderr": (
        ExecutionResult(RunStatus.OUTPUT_LIMIT, stderr_truncated=True),
        (None, "SIGKILL", "EL", "stderr length exceeded"),
    ),
    "memory": (
        ExecutionResult(RunStatus.MEMORY_LIMIT, exit_code=1),
        (None, "SIGKILL", "SG", "The program used more than 128 MB."),
    ),
    "system call": (
        ExecutionResult(RunStatus.FORBIDDEN_SYSCALL),
        (None, "SIGSYS", "SG", "The program made a system call that is not allowed."),
    ),
    "processes": (
        ExecutionResult(RunStatus.PROCESS_LIMIT, exit_code=1),
        (1, None, "RE", "The program started more than 50 processes."),
    ),
    "internal": (
        ExecutionResult(RunStatus.INTERNAL_ERROR),
        (None, None, "XX", "Deemster could not run the program."),
    ),
}


@pytest.mark.parametrize("case", ENDINGS)
def test_each_ending_has_its_status(case: str) -> None:
    result, expected = ENDINGS[case]
    run = run_stage(PYTHON, shown(result, stdout=b"\xff"), b"", None)
    assert (run["code"], run["signal"], run["status"], run["message"]) == expected
    assert run["stdout"] == "\ufffd"


def test_a_failed_judge_and_a_cancelled_execution_have_the_status_xx() -> None:
    failed = shown(None, state=State.FAILED, failure="no box")
    assert run_stage(C, failed, b"", None)["message"] == "no box"
    cancelled = shown(None, state=State.CANCELLED)
    assert run_stage(C, cancelled, b"", None)["status"] == "XX"


def test_a_compile_error_is_repeated_as_the_run() -> None:
    broken = CompileResult(RunStatus.NONZERO_EXIT, "main.c:1: error", 5)
    found = shown(ExecutionResult(RunStatus.COMPILE_ERROR, compile=broken))
    compiled = compile_stage(C, found.view)
    assert compiled is not None
    assert run_stage(C, found, b"", compiled) == compiled
    assert (compiled["code"], compiled["status"]) == (1, "RE")
    assert compiled["stderr"] == compiled["output"] == "main.c:1: error"


def test_a_compiler_that_takes_too_long_is_killed() -> None:
    slow = CompileResult(RunStatus.WALL_LIMIT, "", 10_000)
    found = shown(ExecutionResult(RunStatus.COMPILE_ERROR, compile=slow))
    compiled = compile_stage(C, found.view)
    assert compiled is not None
    assert (compiled["code"], compiled["signal"], compiled["status"]) == (None, "SIGKILL", "TO")


def test_a_syntax_error_of_an_interpreted_language_is_an_error_of_the_run() -> None:
    broken = CompileResult(RunStatus.NONZERO_EXIT, "SyntaxError", 5)
    found = shown(ExecutionResult(RunStatus.COMPILE_ERROR, compile=broken))
    assert compile_stage(PYTHON, found.view) is None
    run = run_stage(PYTHON, found, b"", None)
    assert (run["code"], run["status"], run["stderr"]) == (1, "RE", "SyntaxError")
