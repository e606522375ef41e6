"""Lanes for timed runs: each has three boxes and, if possible, a CPU core of its own."""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final, Self

from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import STANDARD_PROFILES, FilesView, Layers, Profile
from deemster.sandbox.pool import FairQueue

BOXES_PER_LANE: Final = 3
"""One for the program, and two for an interactor that runs at the same time, or for the next
two runs that are made ready."""


class Lanes:
    """Hands lanes out first come first served.

    Each lane has its own runner, so no run lands on another lane's core, and a runner that
    dies stops only its own lane.
    """

    def __init__(self, lanes: Sequence[Boxes]) -> None:
        self._queue: FairQueue[Boxes] = FairQueue()
        self.count = len(lanes)
        for boxes in lanes:
            self._queue.release(boxes)

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        count: int,
        *,
        cpus: Sequence[int] | None = None,
        layers: Layers = Layers.ALL,
        profiles: Sequence[Profile] = STANDARD_PROFILES,
        views: Sequence[FilesView] = (),
        script_view: FilesView | None = None,
        runner: Path | None = None,
        read_mib_per_s: int = 0,
    ) -> AsyncIterator[Self]:
        """Opens lanes on these cores, or on the first cores that this process may use.

        With more lanes than cores, no lane is pinned to a core.
        """
        async with AsyncExitStack() as stack:
            lanes = [
                await stack.enter_async_context(
                    Boxes.open(
                        slots=BOXES_PER_LANE,
                        layers=layers,
                        profiles=profiles,
                        views=views,
                        script_view=script_view,
                        runner=runner,
                        cpus=lane_cpus,
                        read_mib_per_s=read_mib_per_s,
                    )
                )
                for lane_cpus in share_cpus(count, cpus)
            ]
            yield cls(lanes)

    def acquire(self) -> AbstractAsyncContextManager[Boxes]:
        """Waits for a free lane."""
        return self._acquire(1)

    @property
    def is_wanted(self) -> bool:
        """Whether somebody waits for a lane."""
        return self._queue.has_waiters

    def exclusive(self) -> AbstractAsyncContextManager[Boxes]:
        """Waits for a lane and keeps all others idle, for a measurement without neighbours."""
        return self._acquire(self.count)

    @asynccontextmanager
    async def _acquire(self, count: int) -> AsyncIterator[Boxes]:
        lanes = await self._queue.acquire([_no_preference] * count)
        try:
            yield lanes[0]
        finally:
            for boxes in lanes:
                self._queue.release(boxes)


def share_cpus(count: int, given: Sequence[int] | None = None) -> list[tuple[int, ...]]:
    """Returns the core of each lane; with too few cores, no core for any lane."""
    cpus = sorted(os.sched_getaffinity(0)) if given is None else given
    return [(cpu,) for cpu in cpus[:count]] if count <= len(cpus) else [()] * count


def _no_preference(_: Boxes) -> int:
    return 0
