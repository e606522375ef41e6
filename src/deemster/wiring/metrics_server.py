"""Serves the metrics of a role that has no HTTP API, on a port of its own (O1)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import structlog
from prometheus_client import start_http_server

from deemster.settings import Settings

log = structlog.get_logger()
PORT_OFFSETS: Final = {"relay": 0, "worker": 1, "keeper": 2, "dispatcher": 3, "judgehost": 4}
"""Each role has a port of its own, so that one setting fits all roles of a machine."""


@contextmanager
def metrics_served(settings: Settings, role: str) -> Iterator[None]:
    """A port that is taken, such as by a second worker, does not keep the role from working."""
    if settings.metrics_port is None or role not in PORT_OFFSETS:
        yield
        return
    port = settings.metrics_port + PORT_OFFSETS[role]
    try:
        server, thread = start_http_server(port, settings.metrics_host)
    except OSError as fault:
        log.warning(
            "metrics.not_served",
            address=f"{settings.metrics_host}:{port}",
            error=fault.strerror,
        )
        yield
        return
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
