"""F5: the official client of MCP calls every tool, in both generations of the protocol."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from mcp import MCPError

from deemster.domain.account import Role, Scope
from deemster.domain.execution import CompileResult, Stream
from deemster.domain.limits import MIB
from deemster.domain.run_status import RunStatus
from deemster.domain.source import unpack_files
from deemster.domain.verdict import Verdict
from deemster.pipeline.verdict.attempt import settle
from deemster.store import accounts
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool, connection
from tests.api.compat.conftest import GOOD, VERSIONS, SettlingWorker, add_worker, compatible
from tests.api.compat.mcp_agent import (
    MODES,
    PROGRAM,
    agent,
    call,
    refusal,
    structured,
    text_of,
)
from tests.api.conftest import Api, MakeDependencies, make_user
from tests.api.judgements import HIDDEN, JUDGEMENTS, failing, judged_submission, judgement
from tests.builders import make_problem, make_submission, queue_submission, start_submission

SOLUTION = {**PROGRAM, "problem_id": "prob_sum"}
TOOLS = {
    "run_code",
    "list_languages",
    "list_problems",
    "read_problem",
    "submit",
    "read_verdict",
}
READING = {"list_languages", "list_problems", "read_problem", "read_verdict"}


@pytest.mark.parametrize("mode", MODES)
async def test_every_tool_is_described(ada: Api, mode: str) -> None:
    async with agent(ada, mode) as client:
        listed = {each.name: each for each in (await client.list_tools()).tools}
    assert set(listed) == TOOLS
    for name, tool in listed.items():
        assert tool.title
        assert tool.description
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint == (name in READING)
        assert tool.input_schema["additionalProperties"] is False
        for argument, schema in tool.input_schema["properties"].items():
            assert schema.get("description"), (name, argument)
        assert tool.output_schema is not None
        assert tool.output_schema["type"] == "object"


@pytest.mark.parametrize("mode", MODES)
async def test_a_program_is_run_and_every_argument_reaches_it(
    ada: Api, worker: SettlingWorker, mode: str
) -> None:
    arguments = {
        "language": "gcc",
        "files": [
            {"name": "start.c", "content": "int main() {}"},
            {"name": "lib/x.bin", "content_base64": "/w=="},
        ],
        "main": "start.c",
        "stdin": "é",
        "args": ["a b", ""],
        "limits": {
            "wall_time_ms": 2000,
            "cpu_time_ms": 1500,
            "memory_mb": 64,
            "processes": 3,
            "output_kb": 5,
        },
    }
    output = [(Stream.STDOUT, b"1\n"), (Stream.STDERR, b"e\xff"), (Stream.STDOUT, b"2\n")]
    found = replace(GOOD, compile=CompileResult(RunStatus.OK, "a warning", 70))
    result, details = await worker.answer(
        call(ada, "run_code", arguments, mode=mode), found, output
    )
    assert result.pop("execution_id") == details.id
    assert result == {
        "status": "COMPLETED",
        "stdout": "1\n2\n",
        "stderr": "e�",
        "exit_code": 0,
        "compile_output": "a warning",
        "time_ms": 21,
        "cpu_time_ms": 12,
        "memory_kb": 2048,
        "truncated": False,
    }
    assert unpack_files(details.files) == {"start.c": b"int main() {}", "lib/x.bin": b"\xff"}
    assert (details.main, details.language) == ("start.c", "c")
    assert (details.stdin, list(details.args)) == ("é".encode(), ["a b", ""])
    limits = details.limits
    assert (limits.wall_ms, limits.cpu_ms, limits.memory_bytes) == (2000, 1500, 64 * MIB)
    assert (limits.processes, limits.output_bytes) == (3, 5 * 1024)


async def test_a_failed_program_is_a_result(ada: Api, worker: SettlingWorker) -> None:
    cases: list[tuple[dict[str, Any], dict[str, Any]]] = [
        (
            {"status": RunStatus.WALL_LIMIT, "exit_code": None},
            {"status": "TIMEOUT", "exit_code": 124, "error_type": "TimeoutError"},
        ),
        (
            {"status": RunStatus.SIGNALLED, "exit_code": None, "signal": 11},
            {"status": "FAILED", "exit_code": 139, "error_type": "RuntimeError"},
        ),
        (
            {"status": RunStatus.OUTPUT_LIMIT, "stdout_truncated": True},
            {"status": "FAILED", "error_type": "OutputLimitError", "truncated": True},
        ),
    ]
    for found, expected in cases:
        asked = call(ada, "run_code", PROGRAM)
        result, _ = await worker.answer(asked, replace(GOOD, **found))
        assert result | expected == result
        assert result["error_message"].startswith("The program ")


async def test_the_middle_of_long_output_is_left_out(ada: Api, worker: SettlingWorker) -> None:
    output = [(Stream.STDOUT, b"a" * 100 + b"b" * 100)]
    asked = call(ada, "run_code", {**PROGRAM, "output_chars": 101})
    result, _ = await worker.answer(asked, GOOD, output)
    middle = "\n… 99 characters left out …\n"
    assert result["stdout"] == "a" * 50 + middle + "b" * 51
    assert result["truncated"] is True
    asked = call(ada, "run_code", {**PROGRAM, "output_chars": 200})
    result, _ = await worker.answer(asked, GOOD, output)
    assert (len(result["stdout"]), result["truncated"]) == (200, False)


WRONG_CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("run_code", {"language": "python"}, "send either source_code or files"),
    ("run_code", {"source_code": "1"}, "language: this field is required."),
    ("run_code", {**PROGRAM, "timeout": 5}, "timeout: unknown field, leave it out."),
    ("run_code", {**PROGRAM, "language": "klingon"}, "There is no language 'klingon'"),
    (
        "run_code",
        {**PROGRAM, "language": "java"},
        "No machine of this judge has Java: use one of",
    ),
    ("run_code", {**PROGRAM, "source_code": ""}, "The source is empty"),
    ("run_code", {**PROGRAM, "args": ["\0"]}, "NUL"),
    ("run_code", {**PROGRAM, "limits": {"wall_time_ms": 10**6}}, "at most 60000 ms"),
    ("run_code", {**PROGRAM, "limits": {"wall_time_ms": 0}}, "limits.wall_time_ms: "),
    ("list_problems", {"limit": 101}, "limit: "),
    ("list_problems", {"cursor": "?"}, "use the next_cursor of a page of this list"),
    ("read_problem", {"problem_id": "prob_no"}, "no such problem: see list_problems."),
    ("read_problem", {"problem_id": "a\0b"}, "problem_id: "),
    ("submit", {**SOLUTION, "problem_id": "prob_no"}, "no problem prob_no: see list_problems"),
    ("submit", PROGRAM, "problem_id: this field is required."),
    ("read_verdict", {"submission_id": "sub_1"}, "There is no such submission"),
    ("read_verdict", {"submission_id": "sub_1", "wait_s": 31}, "wait_s: "),
]


@pytest.mark.parametrize("mode", MODES)
async def test_a_wrong_call_is_an_error_that_says_what_to_change(
    ada: Api, worker: SettlingWorker, mode: str
) -> None:
    async with agent(ada, mode) as client:
        for tool, arguments, message in WRONG_CALLS:
            result = await client.call_tool(tool, arguments)
            assert result.is_error, (tool, arguments)
            assert message in text_of(result)
        with pytest.raises(MCPError, match="There is no tool 'delete': see tools/list"):
            await client.call_tool("delete", {})


async def test_languages_are_those_that_workers_have(ada: Api, worker: SettlingWorker) -> None:
    found = (await call(ada, "list_languages", {}))["languages"]
    assert {each["id"]: each["versions"] for each in found} == {
        language: [version] for language, version in VERSIONS.items()
    }


async def test_without_workers_nothing_is_run(ada: Api) -> None:
    assert "No worker takes jobs" in await refusal(ada, "run_code", PROGRAM)
    assert (await call(ada, "list_languages", {})) == {"languages": []}


async def test_problems_are_listed_in_pages_and_read(ada: Api, pool: Pool) -> None:
    for slug in ("one", "three", "two"):
        await make_problem(pool, slug)
    first = await call(ada, "list_problems", {"limit": 2, "mine": True})
    assert [each["id"] for each in first["items"]] == ["prob_one", "prob_three"]
    rest = await call(ada, "list_problems", {"limit": 2, "cursor": first["next_cursor"]})
    assert ([each["id"] for each in rest["items"]], rest["next_cursor"]) == (["prob_two"], None)
    problem = await call(ada, "read_problem", {"problem_id": "prob_two"})
    assert (problem["title"], problem["limits"]["time_ms"]) == ("Two", 1000)
    assert problem == (await ada.get("/v1/problems/prob_two")).json()


@pytest.mark.parametrize("mode", MODES)
async def test_a_submission_is_accepted_once_and_its_verdict_is_awaited(
    ada: Api, pool: Pool, artifacts: Artifacts, worker: SettlingWorker, mode: str
) -> None:
    await make_problem(pool)
    keyed = {**SOLUTION, "idempotency_key": "first"}
    accepted = await call(ada, "submit", keyed, mode=mode)
    assert accepted == await call(ada, "submit", keyed, mode=mode)
    other = await refusal(ada, "submit", {**keyed, "source_code": "print(2)"})
    assert "Idempotency-Key" in other
    asked = {"submission_id": accepted["id"]}
    waiting = await call(ada, "read_verdict", {**asked, "wait_s": 0}, mode=mode)
    assert (waiting["status"], waiting["verdict"]) == ("queued", None)
    async with agent(ada, mode) as client, asyncio.TaskGroup() as group:
        verdict = group.create_task(client.call_tool("read_verdict", asked))
        await queue_submission(pool, accepted["id"])
        running = await start_submission(pool, accepted["id"])
        await settle(pool, artifacts, running, JUDGEMENTS[Verdict.ACCEPTED])
    assert structured(verdict.result())["verdict"] == "Accepted"


@pytest.mark.parametrize("verdict", Verdict)
async def test_no_tool_reveals_hidden_tests(
    ada: Api, pool: Pool, artifacts: Artifacts, verdict: Verdict, log_lines: list[Any]
) -> None:
    """A11: hidden names, inputs, outputs and messages."""
    submission = await judged_submission(pool, artifacts, ada.user.id, JUDGEMENTS[verdict])
    async with agent(ada) as client:
        results = [
            await client.call_tool("read_verdict", {"submission_id": submission}),
            await client.call_tool("read_problem", {"problem_id": "prob_sum"}),
            await client.call_tool("list_problems", {}),
        ]
    assert structured(results[0])["verdict"] == verdict
    assert HIDDEN not in str(results) + str(log_lines)


async def test_a_failed_sample_shows_what_was_expected(
    ada: Api, pool: Pool, artifacts: Artifacts
) -> None:
    found = judgement(Verdict.WRONG_ANSWER, failing(Verdict.WRONG_ANSWER, sample=True))
    submission = await judged_submission(pool, artifacts, ada.user.id, found)
    verdict = await call(ada, "read_verdict", {"submission_id": submission})
    assert (verdict["expected"], verdict["got"]) == ("visible expected", "visible got")


async def test_a_submission_of_another_user_is_not_shown(ada: Api, pool: Pool) -> None:
    bob = await make_user(pool, "bob")
    submission = await make_submission(pool, bob.id)
    asked = {"submission_id": submission}
    assert "There is no such submission" in await refusal(ada, "read_verdict", asked)


@pytest.mark.parametrize("mode", MODES)
async def test_a_crash_reveals_nothing(
    ada: Api, pool: Pool, artifacts: Artifacts, mode: str
) -> None:
    found = JUDGEMENTS[Verdict.WRONG_ANSWER]
    submission = await judged_submission(pool, artifacts, ada.user.id, found)
    async with connection(pool) as acquired:
        await acquired.execute("""UPDATE judgement SET contestant = '{"failed_case": 5}'""")
    async with agent(ada, mode) as client:
        with pytest.raises(MCPError, match="This is a fault of the judge") as failed:
            await client.call_tool("read_verdict", {"submission_id": submission})
    assert "attribute" not in str(failed.value)


async def test_tokens_and_their_scopes_are_those_of_the_api(
    ada: Api, pool: Pool, worker: SettlingWorker
) -> None:
    await make_problem(pool)
    async with connection(pool) as acquired:
        token = await accounts.add_token(
            acquired, ada.user.id, "reads", scopes=frozenset({Scope.READ})
        )
    for tool, arguments in (("run_code", PROGRAM), ("submit", SOLUTION)):
        assert "lacks the scope submit" in await refusal(ada, tool, arguments, token=token)
    assert (await call(ada, "list_problems", {}, token=token))["items"]
    async with agent(ada, token="wrong") as client:
        with pytest.raises(MCPError, match="This token is unknown"):
            await client.list_tools()
    answer = await ada.client.post("/mcp", json={})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")


async def test_limits_are_those_of_the_api(
    make_dependencies: MakeDependencies, pool: Pool
) -> None:
    worker = await add_worker(pool, VERSIONS)
    await make_problem(pool)
    async with compatible(
        make_dependencies, pool, executions_per_minute_user=1, submit_interval_s=3600
    ) as ada:
        await worker.answer(call(ada, "run_code", PROGRAM))
        assert "You run programs too fast: try" in await refusal(ada, "run_code", PROGRAM)
        await call(ada, "submit", SOLUTION)
        assert "a moment ago: try again in" in await refusal(ada, "submit", SOLUTION)


async def test_admins_have_no_rates(make_dependencies: MakeDependencies, pool: Pool) -> None:
    worker = await add_worker(pool, VERSIONS)
    async with compatible(make_dependencies, pool, executions_per_minute_user=1) as ada:
        root = Api(ada.client, await make_user(pool, "root", Role.ADMIN))
        for _ in range(2):
            await worker.answer(call(root, "run_code", PROGRAM))
