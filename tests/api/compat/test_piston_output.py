"""The messages of Piston's WebSocket, for each way in which a program can end (F2)."""

from dataclasses import replace

import pytest

from deemster.api.compat.piston_output import ProgramFailed, StagedOutput
from deemster.api.compat.request_json import Object
from deemster.api.feed.live_output import LiveEvent
from deemster.domain.execution import (
    CompileResult,
    ExecutionResult,
    ExecutionView,
    OutputChunk,
    Stream,
)
from deemster.domain.lifecycle import State
from deemster.domain.run_status import RunStatus
from tests.api.compat.conftest import COMPILED, GOOD, shown
from tests.api.conftest import CATALOGUE

C, PYTHON = CATALOGUE.named("c"), CATALOGUE.named("python3")
RUNNING = replace(shown(None).view, state=State.RUNNING)


def ended(result: ExecutionResult | None, state: State = State.COMPLETED) -> ExecutionView:
    return shown(result, state=state).view


def chunk(content: bytes, stream: Stream = Stream.STDOUT) -> OutputChunk:
    return OutputChunk(1, 1, stream, 0, content)


def messages(language: str, *events: LiveEvent) -> list[Object]:
    output = StagedOutput(CATALOGUE.named(language))
    return [message for event in events for message in output.messages_of(event)]


def stage(name: str) -> Object:
    return {"type": "stage", "stage": name}


def data(text: str, stream: str = "stdout") -> Object:
    return {"type": "data", "stream": stream, "data": text}


def left(stage: str, code: int | None = 0, signal: str | None = None) -> Object:
    return {"type": "exit", "stage": stage, "code": code, "signal": signal}


def test_an_interpreted_program_has_one_stage() -> None:
    found = messages("python3", None, RUNNING, chunk(b"1\n"), COMPILED, ended(GOOD))
    assert found == [stage("run"), data("1\n"), left("run")]


def test_a_compiled_program_has_two_stages() -> None:
    found = messages("c", RUNNING, COMPILED, chunk(b"e", Stream.STDERR), ended(GOOD))
    assert found == [
        stage("compile"),
        data("a warning", "stderr"),
        left("compile"),
        stage("run"),
        data("e", "stderr"),
        left("run"),
    ]


def test_output_waits_until_the_end_of_compiling_is_known() -> None:
    expected = messages("c", RUNNING, COMPILED, chunk(b"1"), ended(GOOD))
    assert messages("c", RUNNING, chunk(b"1"), COMPILED, ended(GOOD)) == expected
    late = ended(replace(GOOD, compile=COMPILED))
    assert messages("c", chunk(b"1"), late) == expected
    assert messages("c", COMPILED, chunk(b"1"), late) == expected


def test_a_compile_error_ends_the_job() -> None:
    broken = CompileResult(RunStatus.NONZERO_EXIT, "error", 5)
    result = ExecutionResult(RunStatus.COMPILE_ERROR, compile=broken)
    assert messages("c", RUNNING, ended(result)) == [
        stage("compile"),
        data("error", "stderr"),
        left("compile", 1),
    ]
    assert messages("python3", RUNNING, ended(result)) == [
        stage("run"),
        data("error", "stderr"),
        left("run", 1),
    ]
    slow = ExecutionResult(
        RunStatus.COMPILE_ERROR, compile=CompileResult(RunStatus.WALL_LIMIT, "", 5)
    )
    assert messages("c", ended(slow))[-1] == left("compile", None, "SIGKILL")


@pytest.mark.parametrize(
    ("result", "code", "signal"),
    [
        (ExecutionResult(RunStatus.NONZERO_EXIT, exit_code=3), 3, None),
        (ExecutionResult(RunStatus.SIGNALLED, signal=15), None, "SIGTERM"),
        (ExecutionResult(RunStatus.WALL_LIMIT), None, "SIGKILL"),
        (ExecutionResult(RunStatus.OUTPUT_LIMIT, stdout_truncated=True), None, "SIGKILL"),
        (ExecutionResult(RunStatus.MEMORY_LIMIT), None, "SIGKILL"),
    ],
)
def test_the_exit_has_the_code_or_the_signal(
    result: ExecutionResult, code: int | None, signal: str | None
) -> None:
    assert messages("python3", ended(result))[-1] == left("run", code, signal)


def test_characters_may_be_split_between_chunks() -> None:
    e_acute = "é".encode()
    found = messages("python3", RUNNING, chunk(e_acute[:1]), chunk(e_acute[1:] + b"\xff"))
    assert found[1:] == [data("é\ufffd")]
    found = messages("python3", RUNNING, chunk(e_acute[:1]), ended(GOOD))
    assert found[1:] == [data("\ufffd"), left("run")]


@pytest.mark.parametrize(
    "view",
    [
        ended(None, State.FAILED),
        ended(None, State.CANCELLED),
        ended(ExecutionResult(RunStatus.INTERNAL_ERROR)),
    ],
)
def test_a_failed_judge_is_an_error(view: ExecutionView) -> None:
    with pytest.raises(ProgramFailed):
        messages("python3", RUNNING, view)
