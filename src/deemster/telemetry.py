"""Configures logging: each event, also of a library, is one line of JSON on stderr (O2)."""

import asyncio
import atexit
import json
import logging
import sys
import threading
from typing import Final, TextIO, cast

import structlog
from structlog.typing import EventDict, Processor

from deemster.domain.ids import WorkId, kind_of

LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}

# A traceback as plain text: structured ones contain local variables, and so sources (A11).
SHARED: Final[tuple[Processor, ...]] = (
    structlog.contextvars.merge_contextvars,
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
    structlog.processors.format_exc_info,
)

# One encoder for all lines: structlog's renderer creates one for each line.
ENCODE: Final = json.JSONEncoder(default=repr).encode


def render(_logger: object, _method: str, event: EventDict) -> str:
    return ENCODE(event)


class BatchedStream:
    """Writes all lines of one event loop iteration at once: many requests end in one iteration,
    and one write for each would cost more than everything else that logging does.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lines: list[str] = []
        self._lock = threading.Lock()
        self._scheduled_in: asyncio.AbstractEventLoop | None = None
        atexit.register(self._write_out)

    def write(self, line: str) -> None:
        with self._lock:
            self._lines.append(line)

    def flush(self) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._write_out()  # no event loop runs in this thread
            return
        if self._scheduled_in is not loop:
            self._scheduled_in = loop
            loop.call_soon(self._write_out)

    def _write_out(self) -> None:
        with self._lock:
            self._scheduled_in = None
            lines, self._lines = self._lines, []
            if lines:
                self._stream.write("".join(lines))
                self._stream.flush()


def id_field(work: WorkId) -> dict[str, str]:
    """The id of a submission or execution under its name in the log (P4)."""
    return {f"{kind_of(work)}Id": work}


def configure(level: str, role: str) -> None:
    """Every line names the role of this process."""
    lowest = LEVELS[level]

    def name_role(_logger: object, _method: str, event: EventDict) -> EventDict:
        event["role"] = role
        return event

    processors: list[Processor] = [*SHARED, name_role]
    structlog.configure(
        processors=[*processors, render],
        wrapper_class=structlog.make_filtering_bound_logger(lowest),
        logger_factory=structlog.WriteLoggerFactory(cast("TextIO", BatchedStream(sys.stderr))),
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
    # Libraries log warnings only: some log every message that they send.
    root.setLevel(max(lowest, logging.WARNING))
    logging.getLogger("deemster").setLevel(lowest)
