"""Keeps one runner alive and hands out its slots, first come first served."""

import asyncio
import socket
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, Self, TypeVar

from deemster.sandbox import wire
from deemster.sandbox.command import FilesView
from deemster.sandbox.runner import Runner, RunnerConfig, SandboxFault, explain
from deemster.sandbox.slot import Mounts, Slot

T = TypeVar("T")

Preference = Callable[[T], int]
"""Scores an item; the highest score wins, and among equals the item that is free longest."""


@dataclass(frozen=True, slots=True)
class _Waiter(Generic[T]):
    preferences: Sequence[Preference[T]]
    items: asyncio.Future[list[T]]


class FairQueue(Generic[T]):
    """A request for many items is not overtaken by later requests for fewer."""

    def __init__(self) -> None:
        self._free: list[T] = []
        self._waiters: deque[_Waiter[T]] = deque()

    async def acquire(self, preferences: Sequence[Preference[T]]) -> list[T]:
        """Returns one item for each preference, in that order, as soon as all are free."""
        if not self._waiters and len(self._free) >= len(preferences):
            return self._pick(preferences)
        items: asyncio.Future[list[T]] = asyncio.get_running_loop().create_future()
        self._waiters.append(_Waiter(preferences, items))
        try:
            return await items
        except asyncio.CancelledError:
            if items.done() and not items.cancelled() and not items.exception():
                self._free += items.result()
            self._serve_waiters()
            raise

    @property
    def has_waiters(self) -> bool:
        return bool(self._waiters)

    @property
    def has_free(self) -> bool:
        return bool(self._free)

    def release(self, item: T) -> None:
        """Makes an item available: a new one, or one that was acquired before."""
        self._free.append(item)
        self._serve_waiters()

    def remove(self, item: T) -> None:
        """Forgets a free item; whoever acquired an item must not release it instead."""
        if item in self._free:
            self._free.remove(item)

    def fail_waiters(self, error: Exception) -> None:
        while self._waiters:
            items = self._waiters.popleft().items
            if not items.done():
                items.set_exception(error)

    def _serve_waiters(self) -> None:
        while self._waiters:
            first = self._waiters[0]
            if not first.items.done():
                if len(self._free) < len(first.preferences):
                    return
                first.items.set_result(self._pick(first.preferences))
            self._waiters.popleft()

    def _pick(self, preferences: Sequence[Preference[T]]) -> list[T]:
        picked = []
        for preference in preferences:
            best = max(self._free, key=preference)
            self._free.remove(best)
            picked.append(best)
        return picked


FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 5.0
START_TIMEOUT_S = 150.0
START_TRIES = 3
MAX_VIEWS = 256
"""The runner accepts no more."""


class RunnerKilled(SandboxFault):
    """A runner ended before its first slot was ready, without giving a reason."""


class Pool:
    """Restarts its runner when that ends; the runs that were under way raise SandboxFault."""

    def __init__(self, config: RunnerConfig) -> None:
        self.config = config
        self._runner: Runner | None = None
        self._stopping: Runner | None = None
        """Told to stop, but perhaps still running, if the call that waited was cancelled."""
        self._slots: set[Slot] = set()
        self._queue: FairQueue[Slot] = FairQueue()
        self._ended = asyncio.Event()
        self._first_slot: asyncio.Future[None] | None = None

    @classmethod
    @asynccontextmanager
    async def open(cls, config: RunnerConfig) -> AsyncIterator[Self]:
        pool = cls(config)
        await pool._start_first()
        try:
            async with asyncio.TaskGroup() as group:
                restarting = group.create_task(pool._restart_runner())
                try:
                    yield pool
                finally:
                    restarting.cancel()
                    await asyncio.shield(pool._stop())
                    pool._queue.fail_waiters(SandboxFault("The sandbox was closed."))
        except BaseExceptionGroup as group_error:
            # What the block raised reaches the caller as it is, not in a group of one.
            if len(group_error.exceptions) == 1:
                raise group_error.exceptions[0] from None
            raise

    @property
    def runner_pid(self) -> int:
        pid = self.runner.pid
        if pid is None:
            raise SandboxFault("The sandbox runner is being restarted; try again.")
        return pid

    @property
    def runner(self) -> Runner:
        if self._runner is None:
            raise SandboxFault("The sandbox runner is being restarted; try again.")
        return self._runner

    async def acquire(self, wanted: Sequence[Mounts]) -> list[Slot]:
        """Waits for a free slot for each, preferring slots that have these mounts already."""
        slots = await self._queue.acquire([prefer_mounts(mounts) for mounts in wanted])
        for slot in slots:
            slot.acquired = True
        return slots

    def release(self, slot: Slot) -> None:
        """Makes the slot available now, or as soon as its abandoned run has ended."""
        slot.acquired = False
        self._offer(slot)

    def _offer(self, slot: Slot) -> None:
        if not slot.acquired and not slot.closed and not slot.finishing:
            self._queue.release(slot)

    @property
    def has_free_slot(self) -> bool:
        return self._queue.has_free

    async def provide(self, views: Iterable[FilesView]) -> None:
        """Has all slots made again if they lack one of these views.

        Such a view is new or has changed since the runner was started: a toolchain was
        upgraded. Waits until all runs have ended.
        """
        wanted = list(views)
        while any(self._find_view(view) is None for view in wanted):
            slots = await self.acquire([Mounts()] * self.config.slots)
            # Another call may have provided them meanwhile.
            if added := [view for view in wanted if self._find_view(view) is None]:
                first, *others = self.config.views
                kept = others[-MAX_VIEWS + len(added) + 1 :]
                self.config = replace(self.config, views=(first, *kept, *added))
                for slot in slots:
                    slot.close()
                if self._runner is not None:
                    self._runner.kill()
            for slot in slots:
                self.release(slot)

    def view_index(self, view: FilesView | None) -> int:
        index = 0 if view is None else self._find_view(view)
        assert index is not None
        return index

    def _find_view(self, view: FilesView) -> int | None:
        views = self.config.views
        for index, known in enumerate(views):
            if known is view:  # to compare two of them takes longer
                return index
        return views.index(view) if view in views else None

    async def attach(self, directory: Path, instruction: wire.Instruction) -> int:
        return await self.runner.attach(directory, instruction)

    # -- slots --

    def _add_slot(self, event: wire.RunnerEvent, channel: socket.socket) -> None:
        slot = Slot(event, channel, self._offer, self._remove_slot)
        self._slots.add(slot)
        if self._first_slot is not None and not self._first_slot.done():
            self._first_slot.set_result(None)
        self._offer(slot)

    def _remove_slot(self, slot: Slot) -> None:
        self._slots.discard(slot)
        self._queue.remove(slot)
        if slot.stuck and self._runner is not None:
            self._runner.kill()

    # -- starting and stopping the runner --

    async def _start_first(self) -> None:
        """Tries again if the runner was killed: nothing on this machine has to be mended."""
        for _ in range(START_TRIES - 1):
            with suppress(RunnerKilled):
                await self._start()
                return
            await asyncio.sleep(FIRST_PAUSE_S)
        await self._start()

    async def _start(self) -> None:
        """Starts a runner and waits for its first slot."""
        self._ended.clear()
        self._first_slot = asyncio.get_running_loop().create_future()
        runner = Runner(self.config, self._add_slot, self._runner_ended)
        self._runner = runner
        try:
            await runner.start()
            async with asyncio.timeout(START_TIMEOUT_S):  # wait_for could lose a cancellation
                await self._first_slot
        except TimeoutError:
            await asyncio.shield(self._stop())
            raise SandboxFault("The sandbox runner did not get ready in time.") from None
        except BaseException:
            await asyncio.shield(self._stop())
            raise

    def _runner_ended(self) -> None:
        self._ended.set()
        for slot in list(self._slots):
            slot.close()
        if self._first_slot is not None and not self._first_slot.done():
            assert self._runner is not None
            fault = self._runner.last_fault
            kind = SandboxFault if fault else RunnerKilled
            reason = explain(fault) if fault else "the runner ended without giving a reason"
            self._first_slot.set_exception(
                kind(
                    f"The sandbox can't be set up: {reason}. `deemster doctor` says what to do."
                )
            )

    async def _restart_runner(self) -> None:
        """Starts another runner whenever one ends; if that fails, waiting callers are told."""
        pause_s = FIRST_PAUSE_S
        while True:
            await self._ended.wait()
            await self._stop()
            try:
                await self._start()
                pause_s = FIRST_PAUSE_S
            except SandboxFault as error:
                self._queue.fail_waiters(error)
                self._ended.set()
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    async def _stop(self) -> None:
        for slot in list(self._slots):
            slot.close()
        if self._runner is not None:
            self._stopping, self._runner = self._runner, None
        if self._stopping is not None:
            await self._stopping.stop()
            self._stopping = None


def prefer_mounts(wanted: Mounts) -> Callable[[Slot], int]:
    def score(slot: Slot) -> int:
        present = slot.mounts
        if present is None:
            return 0
        return (present.code == wanted.code) + (present.data == wanted.data)

    return score
