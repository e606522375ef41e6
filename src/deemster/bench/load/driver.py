"""Starts a load generator as its own process, sends it requests and reads its results."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from typing import Final

from deemster.domain.errors import Unavailable

GENERATOR: Final = "deemster.bench.load.generator"
NUMBER_MARK: Final = "@" * 12
"""The generator replaces it in a body by the request's number, so that all bodies differ."""
MAX_LINE_BYTES: Final = 1 << 28
LATE_ANSWERS_S: Final = 180.0


@dataclass(frozen=True, slots=True)
class LoadRequest:
    host: str
    port: int
    tokens: Sequence[str]
    """The senders take turns."""
    body: str
    """JSON with a `NUMBER_MARK`."""
    first: int
    """Number of the first request."""
    seconds: float
    connections: int
    """Maximum number of open connections."""
    count: int | None = None
    """This many requests, spread evenly over the time. None: each connection sends its next
    request when it has an answer."""
    with_keys: bool = False
    path: str = "/v1/submissions"

    def to_line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"


@dataclass(frozen=True, slots=True)
class LoadResult:
    took_s: float
    ids: Sequence[str]
    """Ids of accepted submissions."""
    latencies_ms: Sequence[float]
    """Of accepted submissions in the same order, from the time when each was due."""
    refused: Mapping[str, int]
    """Number of refused requests by the type of the error."""
    errors: Mapping[str, int]
    """Number of requests without an answer, by the reason."""
    late_ms: float
    """The longest delay of the generator itself."""

    @property
    def per_s(self) -> float:
        return len(self.ids) / self.took_s

    def quantile_ms(self, share: float) -> float:
        ordered = sorted(self.latencies_ms) or [0.0]
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    def to_line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"


class Driver:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncIterator["Driver"]:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", GENERATOR),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=MAX_LINE_BYTES,
        )
        assert process.stdin is not None
        try:
            yield cls(process)
        finally:
            process.stdin.close()  # which ends the generator, also if this process dies
            await process.wait()

    async def send(self, request: LoadRequest) -> LoadResult:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(request.to_line())
        await stdin.drain()
        async with asyncio.timeout(request.seconds + LATE_ANSWERS_S):
            line = await stdout.readline()
        if not line:
            raise Unavailable("The load generator died: see its error above, and try again.")
        return LoadResult(**json.loads(line))
