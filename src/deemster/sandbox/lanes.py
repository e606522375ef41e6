"""Lanes: two boxes and a core each, so that runs in one don't disturb the clocks of another."""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final, Self

from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import STANDARD_PROFILES, Bind, Layers, Profile
from deemster.sandbox.fair_queue import FairQueue

SLOTS_A_LANE: Final = 2
"""A program, and the companion that it talks to."""


class Lanes:
    """Hands lanes out in order of asking, also to those who ask for all of them.

    Each lane has a runner of its own: no run can land on another lane's core, and the death of
    a runner stops no other lane.
    """

    def __init__(self, lanes: Sequence[Boxes]) -> None:
        self._turns: FairQueue[Boxes] = FairQueue()
        self.count = len(lanes)
        for boxes in lanes:
            self._turns.put(boxes)

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        count: int,
        *,
        cpus: Sequence[int] | None = None,
        layers: Layers = Layers.ALL,
        profiles: Sequence[Profile] = STANDARD_PROFILES,
        binds: Sequence[Bind] = (),
        runner: Path | None = None,
    ) -> AsyncIterator[Self]:
        """As many lanes as asked for, on these cores or on the first of the process's own.

        With more lanes than cores, none keeps to a core.
        """
        async with AsyncExitStack() as stack:
            lanes = [
                await stack.enter_async_context(
                    Boxes.open(
                        slots=SLOTS_A_LANE,
                        layers=layers,
                        profiles=profiles,
                        binds=binds,
                        runner=runner,
                        cpus=own,
                    )
                )
                for own in share_cpus(count, cpus)
            ]
            yield cls(lanes)

    @asynccontextmanager
    async def one(self) -> AsyncIterator[Boxes]:
        """A lane, as soon as one is free."""
        async with self._held(1) as boxes:
            yield boxes

    @asynccontextmanager
    async def all(self) -> AsyncIterator[Boxes]:
        """A lane while all others are kept idle: a measurement alone on the machine."""
        async with self._held(self.count) as boxes:
            yield boxes

    @asynccontextmanager
    async def _held(self, count: int) -> AsyncIterator[Boxes]:
        held = await self._turns.take([_any] * count)
        try:
            yield held[0]
        finally:
            for boxes in held:
                self._turns.put(boxes)


def share_cpus(count: int, given: Sequence[int] | None = None) -> list[tuple[int, ...]]:
    """A core of those that this process may use for each lane, or none for any."""
    cpus = sorted(os.sched_getaffinity(0)) if given is None else given
    return [(cpu,) for cpu in cpus[:count]] if count <= len(cpus) else [()] * count


def _any(_: Boxes) -> int:
    return 0
