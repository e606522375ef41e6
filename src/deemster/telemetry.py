"""Logs: one line of JSON on stderr for each thing that happens, ours or a library's (O2)."""

import asyncio
import atexit
import json
import logging
import sys
import threading
from typing import Final, TextIO, cast

import structlog
from structlog.typing import EventDict, Processor

LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}

# A traceback as plain text: the other kind would show local variables, and so sources (A11).
SHARED: Final[tuple[Processor, ...]] = (
    structlog.contextvars.merge_contextvars,
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
    structlog.processors.format_exc_info,
)

# One encoder for all lines: structlog's renderer makes one for each.
ENCODE: Final = json.JSONEncoder(default=repr).encode


def render(_logger: object, _method: str, event: EventDict) -> str:
    return ENCODE(event)


class Gathered:
    """Writes the lines of one turn of the event loop at once: many requests end in one turn,
    and a write for each costs them more than all else that is done for the log.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lines: list[str] = []
        self._lock = threading.Lock()
        self._due_in: asyncio.AbstractEventLoop | None = None
        atexit.register(self._write_out)

    def write(self, line: str) -> None:
        with self._lock:
            self._lines.append(line)

    def flush(self) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._write_out()  # no loop, or another thread than the loop's
            return
        if self._due_in is not loop:
            self._due_in = loop
            loop.call_soon(self._write_out)

    def _write_out(self) -> None:
        with self._lock:
            self._due_in = None
            lines, self._lines = self._lines, []
            if lines:
                self._stream.write("".join(lines))
                self._stream.flush()


def configure(level: str, role: str) -> None:
    """From now on every line names the role of this process."""
    least = LEVELS[level]

    def name_role(_logger: object, _method: str, event: EventDict) -> EventDict:
        event["role"] = role
        return event

    processors: list[Processor] = [*SHARED, name_role]
    structlog.configure(
        processors=[*processors, render],
        wrapper_class=structlog.make_filtering_bound_logger(least),
        logger_factory=structlog.WriteLoggerFactory(cast("TextIO", Gathered(sys.stderr))),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*processors, structlog.stdlib.add_logger_name],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, render],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    # Of libraries only what may need someone's attention: some tell of everything they send.
    root.setLevel(max(least, logging.WARNING))
    logging.getLogger("deemster").setLevel(least)
