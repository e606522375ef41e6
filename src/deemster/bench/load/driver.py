"""A generator of load in a process of its own, so that it costs the server's nothing."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from deemster.bench.load import generator
from deemster.bench.load.order import LoadOrder, LoadResult, read_tale
from deemster.domain.errors import Unavailable

LONGEST_LINE: Final = 1 << 28
SPARE_S: Final = 180.0
"""For answers that come late."""


class Driver:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncIterator["Driver"]:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", generator.__name__),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=LONGEST_LINE,
        )
        assert process.stdin is not None
        try:
            yield cls(process)
        finally:
            process.stdin.close()  # its sign to end, however we end
            await process.wait()

    async def carry_out(self, order: LoadOrder) -> LoadResult:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(order.line())
        await stdin.drain()
        async with asyncio.timeout(order.seconds + SPARE_S):
            line = await stdout.readline()
        if not line:
            raise Unavailable("The generator of load has died: see above, and try again.")
        return read_tale(line)
