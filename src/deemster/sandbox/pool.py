"""Keeps one runner alive and hands its slots out, in order of asking."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self

from deemster.sandbox import wire
from deemster.sandbox.fair_queue import FairQueue
from deemster.sandbox.runner import Runner, RunnerConfig, SandboxFault, explain
from deemster.sandbox.slot import Shown, Slot

FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 5.0
START_TIMEOUT_S = 60.0


class Pool:
    """A runner that ends is started again; runs that it took along are to be repeated."""

    def __init__(self, config: RunnerConfig) -> None:
        self.config = config
        self._runner: Runner | None = None
        self._leaving: Runner | None = None
        """Stopped, but not seen to be gone: whoever was to see to that may be cancelled."""
        self._slots: set[Slot] = set()
        self._queue: FairQueue[Slot] = FairQueue()
        self._ended = asyncio.Event()
        self._first_slot: asyncio.Future[None] | None = None

    @classmethod
    @asynccontextmanager
    async def open(cls, config: RunnerConfig) -> AsyncIterator[Self]:
        pool = cls(config)
        await pool._start()
        try:
            async with asyncio.TaskGroup() as group:
                keeper = group.create_task(pool._keep_running())
                try:
                    yield pool
                finally:
                    keeper.cancel()
                    await asyncio.shield(pool._stop())
                    pool._queue.fail_waiters(SandboxFault("The sandbox was closed."))
        except BaseExceptionGroup as group_error:
            # What the block raised is the caller's, not a group of one.
            if len(group_error.exceptions) == 1:
                raise group_error.exceptions[0] from None
            raise

    @property
    def runner_pid(self) -> int:
        pid = self._runner.pid if self._runner is not None else None
        if pid is None:
            raise SandboxFault("The sandbox runner is being started again.")
        return pid

    # -- what runs need --

    async def take(self, wanted: Sequence[Shown]) -> list[Slot]:
        """A free slot for each, all at once, where little has to be hung or taken away."""
        slots = await self._queue.acquire([fitting(each) for each in wanted])
        for slot in slots:
            slot.held = True
        return slots

    def give_back(self, slot: Slot) -> None:
        """It is handed out again at once, or when it has ended what its run left to do."""
        slot.held = False
        self._put(slot)

    def _put(self, slot: Slot) -> None:
        if not slot.held and not slot.dead and not slot.busy_for_nobody:
            self._queue.release(slot)

    async def attach(self, directory: Path, order: wire.Instruction) -> int:
        if self._runner is None:
            raise SandboxFault("The sandbox runner is being started again; try again.")
        return await self._runner.attach(directory, order)

    # -- slots --

    def _new_slot(self, number: int, channel: socket.socket) -> None:
        slot = Slot(number, channel, self._put, self._slot_died)
        self._slots.add(slot)
        if self._first_slot is not None and not self._first_slot.done():
            self._first_slot.set_result(None)
        self._put(slot)

    def _slot_died(self, slot: Slot) -> None:
        self._slots.discard(slot)
        self._queue.remove(slot)
        if slot.stuck and self._runner is not None:
            self._runner.kill()

    # -- the runner's life --

    async def _start(self) -> None:
        """Starts a runner and returns once its first slot is there."""
        self._ended.clear()
        self._first_slot = asyncio.get_running_loop().create_future()
        runner = Runner(self.config, self._new_slot, self._runner_ended)
        self._runner = runner
        try:
            await runner.start()
            async with asyncio.timeout(START_TIMEOUT_S):  # unlike wait_for it loses no cancel
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
            slot.die()
        if self._first_slot is not None and not self._first_slot.done():
            assert self._runner is not None
            fault = self._runner.last_fault
            reason = explain(fault) if fault else "it ended without a word"
            self._first_slot.set_exception(
                SandboxFault(
                    f"The sandbox can't be set up: {reason}. `deemster doctor` says what to do."
                )
            )

    async def _keep_running(self) -> None:
        """Starts another runner when one ends; who waits meanwhile hears why that fails."""
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
            slot.die()
        if self._runner is not None:
            self._leaving, self._runner = self._runner, None
        if self._leaving is not None:
            await self._leaving.stop()
            self._leaving = None


def fitting(wanted: Shown) -> Callable[[Slot], int]:
    def fit(slot: Slot) -> int:
        shown = slot.shown
        return 0 if shown is None else (shown.code == wanted.code) + (shown.data == wanted.data)

    return fit
