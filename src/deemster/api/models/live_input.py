"""Request models of input for a running program, and of a client that reconnects to it."""

import re
from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from deemster.api.feed.live_output import OutputCursor
from deemster.api.http.errors import FieldFault, Invalid
from deemster.api.models.field_types import RequestModel, ShortText, TerminalSide
from deemster.api.models.programs import Base64
from deemster.domain.execution import SIZE

INPUT_BYTES: Final = 64 * 1024
INPUT_BODY_BYTES: Final = 6 * INPUT_BYTES + 1024
"""JSON may write each byte with six characters."""
CURSOR: Final = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})", re.ASCII)
SignalName = Literal["SIGINT", "SIGTERM", "SIGKILL", "SIGQUIT", "SIGHUP", "SIGUSR1", "SIGUSR2"]


class InputIn(RequestModel):
    """One of: text, bytes, the end of the input, a signal, a new size of the terminal."""

    data: Annotated[str, Field(max_length=INPUT_BYTES)] | None = None
    data_base64: Base64 | None = None
    end: bool = False
    signal: SignalName | None = None
    rows: TerminalSide | None = None
    columns: TerminalSide | None = None

    @model_validator(mode="after")
    def _has_one(self) -> Self:
        given = [
            self.data is not None,
            self.data_base64 is not None,
            self.end,
            self.signal is not None,
            self.rows is not None or self.columns is not None,
        ]
        if sum(given) != 1:
            raise ValueError("send one of data, data_base64, end, signal, or rows and columns")
        if (self.rows is None) != (self.columns is None):
            raise ValueError("a size has rows and columns")
        if len(self.stored[1]) > INPUT_BYTES:
            raise ValueError(f"send at most {INPUT_BYTES} bytes at once")
        return self

    @property
    def stored(self) -> tuple[str, bytes]:
        if self.end:
            return "end", b""
        if self.signal is not None:
            return "signal", self.signal.encode()
        if self.rows is not None and self.columns is not None:
            return "resize", SIZE.pack(self.rows, self.columns)
        if self.data is not None:
            return "data", self.data.encode()
        return "data", self.data_base64 or b""


class KeyedInputIn(InputIn):
    """What a message on the WebSocket of a terminal may be."""

    key: ShortText | None = None
    """The input is confirmed with this key. If the connection is lost before that, the input
    can be sent again with its key: it is typed once."""


def parse_cursor(text: str | None) -> OutputCursor:
    if not text:
        return OutputCursor()
    found = CURSOR.fullmatch(text)
    if found is None:
        raise Invalid([FieldFault("Last-Event-ID", "this is no id of an output event")])
    return OutputCursor(int(found[1]), int(found[2]))
