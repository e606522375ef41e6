"""An HTTP server that leaves signals to the process that runs it."""

from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn


class Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Disables uvicorn's handlers, which would end the process before the clean-up."""
        yield
