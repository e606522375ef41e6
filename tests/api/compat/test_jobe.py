"""The API of Jobe: every route, field, outcome and error that CodeRunner knows."""

import base64
from dataclasses import replace
from typing import Any

import pytest

from deemster.api.compat.jobe import clean, result_of
from deemster.domain.execution import CompileResult, ExecutionResult, Stream
from deemster.domain.lifecycle import State
from deemster.domain.limits import MIB
from deemster.domain.run_status import RunStatus
from deemster.domain.source import unpack_files
from deemster.store import client_files
from deemster.store.pool import Pool, connection
from tests.api.compat.conftest import (
    COMPILED,
    GOOD,
    SettlingWorker,
    compatible,
    shown,
)
from tests.api.conftest import Api, MakeDependencies, make_user

ROOT = "/jobe/index.php/restapi"
RUNS = ROOT + "/runs"
PROGRAM: dict[str, Any] = {"language_id": "python3", "sourcecode": "print(1)"}


def spec(**more: object) -> dict[str, Any]:
    return {"run_spec": {**PROGRAM, **more}}


def encoded(content: bytes) -> dict[str, str]:
    return {"file_contents": base64.b64encode(content).decode()}


async def put(api: Api, name: str, body: object) -> int:
    answer = await api.client.put(f"{ROOT}/files/{name}", json=body, headers=api.user.headers)
    return answer.status_code


async def head(api: Api, name: str) -> int:
    return (await api.client.head(f"{ROOT}/files/{name}", headers=api.user.headers)).status_code


async def test_languages_have_jobes_names(ada: Api, worker: SettlingWorker) -> None:
    answer = await ada.get(ROOT + "/languages")
    assert answer.json() == [
        ["c", "GCC 12.2.0 (Debian 12.2.0-14)"],
        ["nodejs", "Node.js 18.20.4"],
        ["python3", "CPython 3.11.2"],
    ]


async def test_a_run_with_every_field(ada: Api, worker: SettlingWorker) -> None:
    assert await put(ada, "0123456789abcdef", encoded(b"\xff\0")) == 204
    body = spec(
        language_id="c",
        sourcefilename="prog.c",
        input="in",
        file_list=[["0123456789abcdef", "data.bin"], ["0123456789abcdef", "x.h", True]],
        parameters={
            "cputime": 3,
            "memorylimit": 100,
            "disklimit": 10,
            "numprocs": 7,
            "streamsize": 0.5,
            "compileargs": ["-Wall -DX='a b'"],
            "linkargs": ["-lm"],
            "interpreterargs": [],
            "runargs": ["a b", "'c d'"],
            "debug": 1,
            "sourcefilename": "prog.c",
            "jobeserver": "jobe.example.org",
            "jobeapikey": "x",
        },
        debug=True,
    )
    result = replace(GOOD, compile=COMPILED)
    answer, details = await worker.answer(
        ada.post(RUNS, body), result, [(Stream.STDOUT, b"out")]
    )
    assert answer.status_code == 200
    assert answer.json() == {
        "run_id": details.id,
        "outcome": 15,
        "cmpinfo": "",
        "stdout": "out",
        "stderr": "",
    }
    assert unpack_files(details.files) == {
        "prog.c": b"print(1)",
        "data.bin": b"\xff\0",
        "x.h": b"\xff\0",
    }
    assert (details.main, details.stdin) == ("prog.c", b"in")
    assert list(details.args) == ["a", "b", "c d"]
    limits = details.limits
    assert (limits.cpu_ms, limits.wall_ms, limits.processes) == (3000, 6000, 7)
    assert (limits.memory_bytes, limits.file_bytes, limits.output_bytes) == (
        100 * MIB,
        10 * MIB,
        MIB // 2,
    )
    assert list(details.options.compile_args) == ["-Wall", "-DX=a b", "-lm"]


async def test_defaults_are_those_of_jobe_and_zero_is_the_ceiling(
    ada: Api, worker: SettlingWorker
) -> None:
    _, details = await worker.answer(ada.post(RUNS, spec()))
    limits = details.limits
    assert (limits.cpu_ms, limits.wall_ms, limits.processes) == (5000, 10_000, 30)
    assert (limits.memory_bytes, limits.output_bytes) == (400 * MIB, 2 * MIB)
    parameters = {"memorylimit": 0, "numprocs": 0, "cputime": "7", "interpreterargs": ["-O"]}
    _, details = await worker.answer(ada.post(RUNS, spec(parameters=parameters)))
    limits = details.limits
    assert (limits.memory_bytes, limits.processes, limits.cpu_ms) == (512 * MIB, 120, 7000)
    assert list(details.options.interpreter_args) == ["-O"]


REFUSED: list[tuple[object, str]] = [
    ({}, "No run_spec attribute"),
    ({"run_spec": []}, "No run_spec attribute"),
    ([], "not a JSON object"),
    ({"run_spec": {"language_id": "c"}}, "missing the required attribute 'sourcecode'"),
    ({"run_spec": {"sourcecode": "x"}}, "missing the required attribute 'language_id'"),
    (spec(sourcecode=5), "'sourcecode' of run_spec must be a string"),
    (spec(input=5), "'input' of run_spec must be a string"),
    (spec(language_id="klingon"), "Language 'klingon' is not known"),
    (spec(language_id="java"), "Language 'java' is not known"),
    (spec(sourcefilename="../x.py"), "sourcefilename for the run_spec is illegal"),
    (spec(sourcecode=""), "The source is empty"),
    (spec(file_list=[["a"]]), "Invalid file specifier"),
    (spec(file_list=["ab"]), "Invalid file specifier"),
    (spec(file_list=[["a/b", "x"]]), "the id is invalid"),
    (spec(file_list=[["ab", "../x"]]), "the name is invalid"),
    (spec(file_list=5), "'file_list' of run_spec is invalid"),
    (spec(parameters=[1]), "'parameters' of run_spec must be an object"),
    (spec(parameters={"cputime": 61}), "cputime exceeds maximum allowed"),
    (spec(parameters={"memorylimit": 100_000}), "memorylimit exceeds the maximum of 512"),
    (spec(parameters={"numprocs": 1000}), "numprocs exceeds the maximum of 120"),
    (spec(parameters={"streamsize": 100}), "streamsize exceeds the maximum of 4"),
    (spec(parameters={"disklimit": 1000}), "disklimit exceeds the maximum of 64"),
    (spec(parameters={"cputime": "soon"}), "'cputime' must be a number"),
    (spec(parameters={"cputime": -1}), "'cputime' must be a number"),
    (spec(parameters={"runargs": "x"}), "runargs must be an array of strings"),
    (spec(parameters={"runargs": ["'x"]}), "runargs have an open quotation mark"),
    (spec(parameters={"runargs": ["a\0b"]}), "NUL"),
    (spec(language_id=["c"]), "'language_id' of run_spec must be a string"),
    (spec(sourcefilename={}), "must be a string"),
    (spec(file_list=[["abcdefgh", "a\0b"]]), "the name is invalid"),
    (spec(file_list=[[1, "x"]]), "the id is invalid"),
    (spec(parameters={"numprocs": -5}), "'numprocs' must be a number"),
    (spec(parameters={"memorylimit": [1]}), "'memorylimit' must be a number"),
    (spec(parameters={"memorylimit": 10**400}), "'memorylimit' must be a number"),
    (spec(parameters={"compileargs": ["-O"]}), "Python 3 is not compiled"),
    (
        spec(language_id="c", parameters={"interpreterargs": ["-O"]}),
        "C is compiled: leave interpreterargs out",
    ),
    (spec(parameters={"main_class": "X"}), "The parameter 'main_class' is not supported"),
    (spec(network=True), "The attribute 'network' is not supported"),
]


async def test_a_bad_request_is_refused_and_leaves_nothing(
    ada: Api, worker: SettlingWorker, pool: Pool
) -> None:
    for body, message in REFUSED:
        answer = await ada.post(RUNS, body)
        assert answer.status_code == 400, (body, answer.text)
        assert message in answer.json(), body
    answer = await ada.post(RUNS, spec(file_list=[["missing8", "x.txt"]]))
    assert (answer.status_code, "missing" in answer.json()) == (404, True)
    async with connection(pool) as acquired:
        assert await acquired.fetchval("SELECT count(*) FROM work") == 0


async def test_errors_of_http_are_texts_in_json(ada: Api) -> None:
    headers = ada.user.headers
    for path in ("/jobe", "/jobe/", "/jobe/index.php/restapi/nothing", "/jobe/x/y"):
        for method in ("GET", "POST", "PUT", "DELETE"):
            answer = await ada.client.request(method, path, headers=headers)
            assert answer.status_code == 404
            if path != "/jobe":
                assert answer.json() == "Not Found"
    for content in (b"{", b"\xff", b'{"a": "\\ud800"}', b'{"a": NaN}', b"[" * 100_000):
        for method, path in (("POST", RUNS), ("PUT", ROOT + "/files/abcdefgh")):
            answer = await ada.client.request(method, path, content=content, headers=headers)
            assert (answer.status_code, type(answer.json())) == (400, str)
    answer = await ada.client.post(RUNS, content=bytes((32 << 20) + 1), headers=headers)
    assert (answer.status_code, type(answer.json())) == (400, str)


async def test_overload_is_an_outcome(
    make_dependencies: MakeDependencies, pool: Pool, worker: SettlingWorker
) -> None:
    async with compatible(make_dependencies, pool, executions_per_minute_user=1) as ada:
        await worker.answer(ada.post(RUNS, spec()))
        answer = await ada.post(RUNS, spec())
    assert (answer.status_code, answer.json()["outcome"]) == (200, 21)


async def test_files_belong_to_their_account(ada: Api, pool: Pool) -> None:
    """A11"""
    bob = Api(ada.client, await make_user(pool, "bob"))
    assert await head(ada, "abc.1_2-3") == 404
    assert await put(ada, "abc.1_2-3", encoded(b"one")) == 204
    assert await put(ada, "abc.1_2-3", encoded(b"two")) == 204
    assert (await head(ada, "abc.1_2-3"), await head(bob, "abc.1_2-3")) == (204, 404)
    async with connection(pool) as acquired:
        found = await client_files.read(acquired, ada.user.id, ["abc.1_2-3", "other"])
        assert found == {"abc.1_2-3": b"two"}


async def test_bad_files_are_refused(make_dependencies: MakeDependencies, pool: Pool) -> None:
    """D3"""
    sizes = {"client_file_mb": 1, "client_files_mb": 2}
    async with compatible(make_dependencies, pool, **sizes) as ada:
        bad: list[object] = [{}, {"file_contents": 5}, {"file_contents": "%"}, []]
        for body in bad:
            assert await put(ada, "a", body) == 400
        assert await put(ada, "a%20b", encoded(b"")) == 400
        assert await put(ada, "a", encoded(bytes(MIB + 1))) == 400
        for name in ("a", "b", "a"):
            assert await put(ada, name, encoded(bytes(MIB))) == 204
        assert await put(ada, "c", encoded(b"1")) == 400
        assert await head(ada, "c") == 404


async def test_files_are_deleted_after_their_last_use(ada: Api, pool: Pool) -> None:
    for name in ("old", "used"):
        assert await put(ada, name, encoded(b"x")) == 204
    async with connection(pool) as acquired:
        await acquired.execute("UPDATE client_file SET used_at = now() - interval '1 hour'")
        assert await head(ada, "used") == 204
        assert await client_files.delete_unused(acquired, unused_s=1800, limit=10) == 1
    assert (await head(ada, "old"), await head(ada, "used")) == (404, 204)


OUTCOMES: dict[str, tuple[ExecutionResult, bytes, int, str]] = {
    "success": (GOOD, b"", 15, ""),
    "output on stderr": (GOOD, b"oops", 12, "oops"),
    "exit code": (
        ExecutionResult(RunStatus.NONZERO_EXIT, exit_code=3),
        b"",
        12,
        "The program ended with exit code 3.\n",
    ),
    "signal": (ExecutionResult(RunStatus.SIGNALLED, signal=11), b"x", 12, "x"),
    "CPU time": (ExecutionResult(RunStatus.TIME_LIMIT), b"", 13, ""),
    "wall time": (ExecutionResult(RunStatus.WALL_LIMIT), b"", 13, ""),
    "memory": (ExecutionResult(RunStatus.MEMORY_LIMIT), b"", 17, ""),
    "system call": (ExecutionResult(RunStatus.FORBIDDEN_SYSCALL), b"", 19, ""),
    "output": (ExecutionResult(RunStatus.OUTPUT_LIMIT), b"x", 12, "x"),
    "processes": (ExecutionResult(RunStatus.PROCESS_LIMIT), b"x", 12, "x"),
    "internal": (ExecutionResult(RunStatus.INTERNAL_ERROR), b"", 20, ""),
}


@pytest.mark.parametrize("case", OUTCOMES)
def test_each_ending_has_its_outcome(case: str) -> None:
    result, stderr, outcome, shown_stderr = OUTCOMES[case]
    found = result_of(shown(result, stdout=b"out", stderr=stderr))
    assert (found["outcome"], found["stderr"], found["stdout"]) == (
        outcome,
        shown_stderr,
        "out",
    )


def test_a_compile_error_has_its_text_in_cmpinfo() -> None:
    broken = CompileResult(RunStatus.NONZERO_EXIT, "error: x", 5)
    found = result_of(shown(ExecutionResult(RunStatus.COMPILE_ERROR, compile=broken)))
    assert (found["outcome"], found["cmpinfo"], found["stdout"]) == (11, "error: x", "")


def test_a_failed_judge_is_an_internal_error() -> None:
    found = result_of(shown(None, state=State.FAILED, failure="no box"))
    assert (found["outcome"], found["stderr"]) == (20, "no box")


def test_output_that_is_not_text_is_shown_in_hex() -> None:
    assert clean("é\0\n".encode()) == "é\0\n"
    assert clean(b"a\xff\0\n\t\x7f") == "a\\xff\\x00\n\t\\x7f"
