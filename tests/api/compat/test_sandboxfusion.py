"""SandboxFusion's /run_code: every field, status and error, and 504 instead of 429."""

import base64
from dataclasses import replace
from typing import Any

import pytest

from deemster.api.compat import sandboxfusion
from deemster.api.compat.sandboxfusion import answer_of
from deemster.domain.execution import CompileResult, ExecutionResult, Stream
from deemster.domain.lifecycle import State
from deemster.domain.limits import MIB
from deemster.domain.run_status import RunStatus
from deemster.domain.source import unpack_files
from deemster.store.pool import Pool, connection
from tests.api.compat.conftest import COMPILED, GOOD, SettlingWorker, compatible, shown
from tests.api.conftest import CATALOGUE, Api, MakeDependencies

PATH = "/run_code"
PROGRAM: dict[str, Any] = {"code": "print(1)", "language": "python"}
C, PYTHON = CATALOGUE.named("c"), CATALOGUE.named("python3")


async def test_every_field_reaches_the_execution(ada: Api, worker: SettlingWorker) -> None:
    body = {
        **PROGRAM,
        "language": "c",
        "stdin": "in",
        "compile_timeout": 4.5,
        "run_timeout": 2,
        "memory_limit_MB": 64,
        "files": {"d/x": base64.b64encode(b"\xff").decode(), "empty": None},
        "fetch_files": ["out.bin"],
        "args": ["a"],
    }
    result = replace(GOOD, compile=COMPILED, returned_files={"out.bin": b"\xfe"})
    answer, details = await worker.answer(
        ada.post(PATH, body), result, [(Stream.STDOUT, b"o"), (Stream.STDERR, b"e")]
    )
    assert answer.status_code == 200
    assert answer.json() == {
        "status": "Success",
        "message": "",
        "compile_result": {
            "status": "Finished",
            "execution_time": 0.07,
            "return_code": 0,
            "stdout": "",
            "stderr": "a warning",
        },
        "run_result": {
            "status": "Finished",
            "execution_time": pytest.approx(0.0206),
            "return_code": 0,
            "stdout": "o",
            "stderr": "e",
        },
        "executor_pod_name": None,
        "files": {"out.bin": base64.b64encode(b"\xfe").decode()},
    }
    assert unpack_files(details.files) == {
        "main.c": b"print(1)",
        "d/x": b"\xff",
        "empty": b"",
    }
    assert (details.main, details.stdin, list(details.args)) == ("main.c", b"in", ["a"])
    assert (details.limits.wall_ms, details.limits.memory_bytes) == (2000, 64 * MIB)
    assert details.options.compile_wall_ms == 4500
    assert list(details.options.return_files) == ["out.bin"]


async def test_defaults_are_ten_seconds_and_the_ceiling(
    ada: Api, worker: SettlingWorker
) -> None:
    answer, details = await worker.answer(ada.post(PATH, PROGRAM))
    assert answer.json()["compile_result"] is None
    assert (details.limits.wall_ms, details.limits.memory_bytes) == (10_000, 512 * MIB)
    assert details.stdin == b""


REFUSED: list[tuple[object, str]] = [
    ({"language": "python"}, "code: this field is required"),
    ({"code": "x"}, "language: this field is required"),
    ({**PROGRAM, "language": "klingon"}, "There is no language 'klingon'"),
    ({**PROGRAM, "language": "java"}, "No machine of this judge has Java: use one of"),
    ({**PROGRAM, "code": ""}, "The source is empty"),
    ({**PROGRAM, "run_timeout": 61}, "run_timeout is above 60"),
    ({**PROGRAM, "run_timeout": 0}, "run_timeout"),
    ({**PROGRAM, "memory_limit_MB": 1024}, "memory_limit_MB is above 512"),
    ({**PROGRAM, "memory_limit_MB": 0}, "memory_limit_MB"),
    ({**PROGRAM, "language": "c", "compile_timeout": 500}, "compile_timeout is above"),
    ({**PROGRAM, "compile_timeout": 1e18}, "compile_timeout"),
    ({**PROGRAM, "run_timeout": -1}, "run_timeout"),
    ({**PROGRAM, "run_timeout": "soon"}, "run_timeout"),
    ({**PROGRAM, "memory_limit_MB": -2}, "memory_limit_MB"),
    ({**PROGRAM, "memory_limit_MB": 10**400}, "memory_limit_MB"),
    ({**PROGRAM, "code": ["x"]}, "code"),
    ({**PROGRAM, "language": 5}, "language"),
    ({**PROGRAM, "stdin": {}}, "stdin"),
    ({**PROGRAM, "files": ["x"]}, "files"),
    ({**PROGRAM, "files": {"x": 5}}, "files.x"),
    ({**PROGRAM, "files": {"a\0b": ""}}, "can't be the name of a source file"),
    ({**PROGRAM, "fetch_files": "x"}, "fetch_files"),
    ({**PROGRAM, "fetch_files": ["a\0b"]}, "NUL"),
    ({**PROGRAM, "fetch_files": ["x"] * 300}, "too many files to return"),
    ({**PROGRAM, "args": [1]}, "args"),
    ({**PROGRAM, "files": {"x": "%"}}, "The file 'x' is not valid base64"),
    ({**PROGRAM, "files": {"../x": ""}}, "can't be the name of a source file"),
    ({**PROGRAM, "files": {"main.py": ""}}, "two files have the name"),
    ({**PROGRAM, "enable_network": True}, "enable_network: unknown field"),
    ([], "not a JSON object"),
]


async def test_a_bad_request_is_a_sandbox_error_and_leaves_nothing(
    ada: Api, worker: SettlingWorker, pool: Pool
) -> None:
    for body, message in REFUSED:
        answer = await ada.post(PATH, body)
        assert answer.status_code == 200, (body, answer.text)
        found = answer.json()
        assert found["status"] == "SandboxError", body
        assert message in found["message"], body
    async with connection(pool) as acquired:
        assert await acquired.fetchval("SELECT count(*) FROM work") == 0
    answer = await ada.client.post(PATH, json=PROGRAM)
    assert (answer.status_code, list(answer.json())) == (401, ["detail"])


async def test_a_body_that_is_no_json_is_a_sandbox_error(ada: Api) -> None:
    for content in (b"{", b"\xff", b'{"a": "\\ud800"}', b'{"a": NaN}', b"[" * 100_000):
        answer = await ada.client.post(PATH, content=content, headers=ada.user.headers)
        assert (answer.status_code, answer.json()["status"]) == (200, "SandboxError")
    large = bytes((32 << 20) + 1)
    answer = await ada.client.post(PATH, content=large, headers=ada.user.headers)
    assert answer.json()["status"] == "SandboxError"
    assert answer.headers["connection"] == "close"


def test_languages_have_sandboxfusion_s_names() -> None:
    for name in (
        *("python", "cpp", "nodejs", "go", "java", "php", "csharp", "bash", "typescript"),
        *("sql", "rust", "lua", "R", "perl", "ruby", "scala"),
    ):
        assert name.lower() in (CATALOGUE.named(name).id, *CATALOGUE.named(name).aliases)


SHORT = {**PROGRAM, "compile_timeout": 0.2, "run_timeout": 0.3}


async def test_a_program_that_gets_no_turn_is_cancelled_with_504(
    ada: Api, worker: SettlingWorker, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandboxfusion, "CLIENT_EXTRA_S", sandboxfusion.ANSWER_S)
    answer = await ada.post(PATH, SHORT)
    assert answer.status_code == 504
    async with connection(pool) as acquired:
        assert await acquired.fetchval("SELECT state FROM work") == "CANCELLED"


async def test_without_workers_it_waits_and_answers_504(
    ada: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandboxfusion, "CLIENT_EXTRA_S", sandboxfusion.ANSWER_S)
    assert (await ada.post(PATH, SHORT)).status_code == 504


async def test_d2_limits_make_it_wait_and_never_answer_429(
    make_dependencies: MakeDependencies,
    pool: Pool,
    worker: SettlingWorker,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with compatible(make_dependencies, pool, executions_per_minute_user=1) as ada:
        await worker.answer(ada.post(PATH, PROGRAM))
        monkeypatch.setattr(sandboxfusion, "CLIENT_EXTRA_S", sandboxfusion.ANSWER_S)
        assert (await ada.post(PATH, SHORT)).status_code == 504


async def test_a_client_that_sends_too_fast_waits_for_its_turn(
    make_dependencies: MakeDependencies, pool: Pool, worker: SettlingWorker
) -> None:
    async with compatible(make_dependencies, pool, requests_per_second_user=1) as ada:
        for _ in range(2):
            answer, _ = await worker.answer(ada.post(PATH, PROGRAM))
            assert answer.status_code == 200


ENDINGS: dict[str, tuple[ExecutionResult, tuple[str, str, int | None]]] = {
    "success": (GOOD, ("Success", "Finished", 0)),
    "exit code": (
        ExecutionResult(RunStatus.NONZERO_EXIT, exit_code=3),
        ("Failed", "Finished", 3),
    ),
    "signal": (ExecutionResult(RunStatus.SIGNALLED, signal=11), ("Failed", "Finished", -11)),
    "CPU time": (ExecutionResult(RunStatus.TIME_LIMIT), ("Failed", "TimeLimitExceeded", None)),
    "wall time": (ExecutionResult(RunStatus.WALL_LIMIT), ("Failed", "TimeLimitExceeded", None)),
    "memory": (ExecutionResult(RunStatus.MEMORY_LIMIT), ("Failed", "Finished", -9)),
    "output": (
        ExecutionResult(RunStatus.OUTPUT_LIMIT, exit_code=0),
        ("Failed", "Finished", -9),
    ),
    "processes": (
        ExecutionResult(RunStatus.PROCESS_LIMIT, exit_code=1),
        ("Failed", "Finished", 1),
    ),
    "system call": (ExecutionResult(RunStatus.FORBIDDEN_SYSCALL), ("Failed", "Finished", -9)),
}


@pytest.mark.parametrize("case", ENDINGS)
def test_each_ending_has_its_status(case: str) -> None:
    result, expected = ENDINGS[case]
    found = answer_of(PYTHON, shown(result, stdout=b"\xff"))
    run = found["run_result"]
    assert (found["status"], run["status"], run["return_code"]) == expected
    assert run["stdout"] == "\ufffd"


def test_a_compile_error_has_no_run() -> None:
    broken = CompileResult(RunStatus.NONZERO_EXIT, "error: x", 5)
    result = ExecutionResult(RunStatus.COMPILE_ERROR, compile=broken)
    found = answer_of(C, shown(result))
    assert (found["status"], found["run_result"]) == ("Failed", None)
    assert found["compile_result"]["return_code"] == 1
    found = answer_of(PYTHON, shown(result))
    assert (found["compile_result"], found["run_result"]["stderr"]) == (None, "error: x")
    slow = CompileResult(RunStatus.WALL_LIMIT, "", 5)
    found = answer_of(C, shown(ExecutionResult(RunStatus.COMPILE_ERROR, compile=slow)))
    assert found["compile_result"]["status"] == "TimeLimitExceeded"


def test_a_failed_judge_is_a_sandbox_error() -> None:
    found = answer_of(C, shown(None, state=State.FAILED, failure="no box"))
    assert (found["status"], found["message"]) == ("SandboxError", "no box")
    found = answer_of(C, shown(ExecutionResult(RunStatus.INTERNAL_ERROR)))
    assert found["status"] == "SandboxError"
