"""Calls that execute programs without a problem, follow them and send input (E4, E5)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Literal, TypeAlias

from deemster.client.errors import ConflictError
from deemster.client.event_stream import follow
from deemster.client.exchange import Exchange, creating, given, path_of
from deemster.client.models.executions import (
    Execution,
    ExecutionSummary,
    Program,
    RefusedExecution,
    StartedExecution,
)
from deemster.client.models.live import LiveEvent, LiveEventParser
from deemster.client.models.parsing import Model, parse
from deemster.client.models.source import content_field
from deemster.client.paging import list_all
from deemster.client.steps import TIMEOUT_S, ItemSteps, Request, Steps
from deemster.client.waiting import wait_for_end

BATCH_TIMEOUT_S: Final = 60.0
SignalName: TypeAlias = Literal[
    "SIGINT", "SIGTERM", "SIGKILL", "SIGQUIT", "SIGHUP", "SIGUSR1", "SIGUSR2"
]


def start(
    exchange: Exchange, program: Program, *, key: str | None = None
) -> Steps[StartedExecution]:
    """Starts a program and does not wait for its end.

    With your own idempotency `key` you can repeat a start yourself, also after a restart.
    """
    request = creating(path_of("executions"), program.to_json(), key)
    return exchange.fetch(StartedExecution, request)


def run(
    exchange: Exchange,
    program: Program,
    *,
    timeout_s: float | None = None,
    key: str | None = None,
) -> Steps[Execution]:
    """Runs a program and waits for its end; see `start` and `wait`."""
    started = yield from start(exchange, program, key=key)
    return (yield from wait(exchange, started.execution_id, timeout_s=timeout_s))


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch(Model):
    executions: tuple[dict[str, Any], ...]


def start_batch(
    exchange: Exchange, programs: Sequence[Program], *, key: str | None = None
) -> Steps[list[StartedExecution | RefusedExecution]]:
    """Starts up to 100 programs; each has its own result, in the same order."""
    body = {"executions": [each.to_json() for each in programs]}
    request = creating(path_of("executions", "batch"), body, key)
    batch = yield from exchange.fetch(Batch, replace(request, timeout_s=BATCH_TIMEOUT_S))
    return [
        parse(RefusedExecution, each) if each.get("error") else parse(StartedExecution, each)
        for each in batch.executions
    ]


def get(exchange: Exchange, execution_id: str) -> Steps[Execution]:
    """Reads an execution as it is now, with the output so far."""
    return read(exchange, execution_id, 0)


def wait(
    exchange: Exchange, execution_id: str, *, timeout_s: float | None = None
) -> Steps[Execution]:
    """Waits until the program has ended. After `timeout_s` seconds it raises `TimeoutError`; by
    default it waits without a limit.
    """
    return wait_for_end(execution_id, partial(read, exchange, execution_id), timeout_s)


def events(exchange: Exchange, execution_id: str) -> ItemSteps[LiveEvent]:
    """Iterates over states and output while the program runs; the last item is the execution as
    it ended. After a lost connection it goes on where it was.
    """
    path = path_of("executions", execution_id, "events")
    return follow(exchange, path, LiveEventParser().parse, is_last)


def is_last(event: LiveEvent) -> bool:
    return isinstance(event, ExecutionSummary)


def list_executions(
    exchange: Exchange, *, session_id: str | None = None, user: str | None = None
) -> ItemSteps[ExecutionSummary]:
    """Iterates over executions without their output, newest first."""
    params = given(session_id=session_id, user=user)
    return list_all(exchange, path_of("executions"), ExecutionSummary, params)


def cancel(exchange: Exchange, execution_id: str) -> Steps[ExecutionSummary]:
    """Ends an execution and kills its program. Raises `ConflictError` if it has ended
    otherwise.
    """
    try:
        path = path_of("executions", execution_id)
        return (yield from exchange.fetch(ExecutionSummary, Request("DELETE", path)))
    except ConflictError:
        # The answer to a first attempt may have been lost.
        found = yield from get(exchange, execution_id)
        if found.status != "CANCELLED":
            raise
        return found


def type_input(exchange: Exchange, execution_id: str, text: str | bytes) -> Steps[None]:
    """Types into a program that was started with `io="streams"` or `"terminal"`.

    After an unclear failure it is not sent again, because it could be typed twice.
    """
    return send_input(exchange, execution_id, content_field("data", text), is_repeatable=False)


def end_input(exchange: Exchange, execution_id: str) -> Steps[None]:
    """Ends the input of the program."""
    return send_input(exchange, execution_id, {"end": True})


def send_signal(exchange: Exchange, execution_id: str, signal: SignalName) -> Steps[None]:
    return send_input(exchange, execution_id, {"signal": signal}, is_repeatable=False)


def resize(exchange: Exchange, execution_id: str, rows: int, columns: int) -> Steps[None]:
    """Changes the size of the program's terminal."""
    return send_input(exchange, execution_id, {"rows": rows, "columns": columns})


def recording(exchange: Exchange, execution_id: str) -> Steps[str]:
    """Reads the recording of a terminal, in the format asciicast v2."""
    path = path_of("executions", execution_id, "recording")
    answer = yield from exchange.send(Request("GET", path))
    return answer.body.decode()


def send_input(
    exchange: Exchange, execution_id: str, typed: dict[str, Any], *, is_repeatable: bool = True
) -> Steps[None]:
    path = path_of("executions", execution_id, "input")
    yield from exchange.send(Request("POST", path, json=typed, is_repeatable=is_repeatable))


def read(exchange: Exchange, execution_id: str, wait_s: float) -> Steps[Execution]:
    request = Request(
        "GET",
        path_of("executions", execution_id),
        params={"output": "base64", "wait": f"{wait_s:g}"},
        timeout_s=TIMEOUT_S + wait_s,
    )
    return exchange.fetch(Execution, request)
