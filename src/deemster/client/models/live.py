"""Live events of an execution, as the client returns them: states, output, end (E5)."""

import base64
from dataclasses import dataclass
from typing import Any, TypeAlias

from deemster.client.models.executions import ExecutionSummary
from deemster.client.models.parsing import Model, parse, unexpected


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusChange(Model):
    status: str
    attempt: int
    """Grows by one if the program is started again because its worker failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output(Model):
    """A piece of the output; it may end within a character."""

    id: str
    """Position in the output: who connects with it gets what comes after it."""
    stream: str
    """`stdout` or `stderr`; a terminal has only `stdout`."""
    at_ms: int | None = None
    """Time since the program was started; a terminal does not tell it."""
    data: str = ""
    data_base64: str | None = None

    @property
    def content(self) -> bytes:
        if self.data_base64 is not None:
            return base64.b64decode(self.data_base64)
        return self.data.encode()

    @property
    def text(self) -> str:
        """Bytes that are not UTF-8 are replaced."""
        return self.content.decode(errors="replace")


LiveEvent: TypeAlias = StatusChange | Output | ExecutionSummary
"""The last one is the execution as it ended."""


class LiveEventParser:
    """Parses the events of one execution, and leaves out those that it has seen.

    A connection that is opened again tells the status again, and may repeat output.
    """

    def __init__(self, last_id: str = "") -> None:
        self.last_id = last_id
        """Id of the last output."""
        self._status: StatusChange | None = None

    def parse(self, name: str, data: Any, event_id: str) -> LiveEvent | None:
        match name:
            case "status":
                return self._new_status(parse(StatusChange, data))
            case "output":
                return self._new_output(parse(Output, {"id": event_id, **data}))
            case "end":
                return parse(ExecutionSummary, data)
        return None

    def _new_status(self, change: StatusChange) -> StatusChange | None:
        if change == self._status:
            return None
        self._status = change
        return change

    def _new_output(self, output: Output) -> Output | None:
        if position_of(output.id) <= position_of(self.last_id):
            return None
        self.last_id = output.id
        return output


def position_of(event_id: str) -> tuple[int, ...]:
    """The attempt and the number of a piece of output, which are in its id."""
    try:
        return tuple(map(int, event_id.split("."))) if event_id else ()
    except ValueError as fault:
        raise unexpected(f"{event_id!r} is no id of output") from fault
