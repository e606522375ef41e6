"""The consumers of one worker, which are drained, paused and stopped together."""

import asyncio
from collections.abc import Sequence

from deemster.pipeline.queue.consumer import Consumer


class Consumers:
    def __init__(self, judging: Consumer, others: Sequence[Consumer]) -> None:
        self._judging = judging
        self._all = (judging, *others)

    async def run(self) -> None:
        """Returns when all are drained or stopped."""
        async with asyncio.TaskGroup() as group:
            for each in self._all:
                group.create_task(each.run())

    def drain(self) -> None:
        for each in self._all:
            each.drain()

    def pause(self) -> None:
        for each in self._all:
            each.pause()

    def resume(self) -> None:
        for each in self._all:
            each.resume()

    async def stop(self) -> None:
        await asyncio.gather(*(each.stop() for each in self._all))

    @property
    def is_draining(self) -> bool:
        return self._judging.is_draining

    @property
    def is_paused(self) -> bool:
        return self._judging.is_paused

    @property
    def busy(self) -> int:
        """Judging slots in use, as the worker's row has them."""
        return self._judging.busy

    @property
    def cycle_s(self) -> float | None:
        return self._judging.cycle_s
