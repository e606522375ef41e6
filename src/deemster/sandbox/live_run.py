"""A run whose caller reads its output and writes its input while the program runs."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from deemster.sandbox import wire
from deemster.sandbox.live_streams import LiveInput, LiveOutput, take_first
from deemster.sandbox.runner import SandboxFault
from deemster.sandbox.slot import Slot
from deemster.sandbox.wire import Report


class OutputName(StrEnum):
    STDOUT = "stdout"
    STDERR = "stderr"


@dataclass(frozen=True, slots=True)
class LiveChunk:
    stream: OutputName
    data: bytes


class Closable(Protocol):
    def close(self) -> None: ...


class LiveRun:
    """What runs on terminals and runs on pipes have in common."""

    def __init__(self, slot: Slot) -> None:
        self._slot = slot
        self._is_started = False
        self._is_cancelled = False
        self._early_signals: set[int] = set()
        self._report: asyncio.Future[Report] = asyncio.get_running_loop().create_future()

    @asynccontextmanager
    async def started(
        self, run: Callable[[], Awaitable[Report]], streams: Sequence[Closable]
    ) -> AsyncIterator[None]:
        """Runs the program beside the block, and ends it when the block is left."""
        try:
            async with asyncio.TaskGroup() as group:
                running = group.create_task(self._keep_report(run, streams))
                try:
                    yield
                    self.cancel()
                    await self.report()
                finally:
                    running.cancel()
        except BaseExceptionGroup as group_error:
            # What the block raised reaches the caller as it is, not in a group of one.
            raise group_error.exceptions[0] from None
        finally:
            self._report.cancel()  # unless it has a result
            for stream in streams:
                stream.close()  # the run may not have come as far as this

    async def _keep_report(
        self, run: Callable[[], Awaitable[Report]], streams: Sequence[Closable]
    ) -> None:
        try:
            self._report.set_result(await run())
        except Exception as error:  # noqa: BLE001 - whoever asks for the report gets it
            self._report.set_exception(error)
            self._report.exception()  # marks it as retrieved: nobody may ask
            for stream in streams:
                stream.close()  # the slot never got them, and somebody may wait for output

    @property
    def ended(self) -> bool:
        return self._report.done()

    async def report(self) -> Report:
        """Waits for the end of the run. The output is not in the report: `read` returns it.

        A program that fills the buffers of its output ends only if somebody reads them, or at
        its wall limit. Raises SandboxFault when the sandbox itself failed.
        """
        await asyncio.wait([self._report])
        if self._report.cancelled():
            raise SandboxFault("The run was abandoned.")
        return self._report.result()

    def cancel(self) -> None:
        """Ends the program and everything it started; does nothing after the end."""
        self._is_cancelled = True
        if self._is_started and not self.ended:
            self._slot.cancel()

    def send_signal(self, number: int) -> None:
        """Sends one of the signals 1 to 31 to the program's process group."""
        wire.check_signal(number)
        if not self._is_started:
            self._early_signals.add(number)
        elif not self.ended:
            self._slot.send_signal(number)

    def on_start(self) -> None:
        """Does what the caller asked for before the request reached the slot."""
        self._is_started = True
        for number in self._early_signals:
            self._slot.send_signal(number)
        if self._is_cancelled:
            self._slot.cancel()


class Pipes:
    """The three pipes of a run."""

    def __init__(self, slot: Slot, output_bytes: int) -> None:
        child_fd, writer = os.pipe2(os.O_CLOEXEC)
        os.fchmod(child_fd, 0o444)  # lets the program open /dev/stdin by name
        self.stdin = LiveInput(writer, child_fd)
        self.stdout, self.stderr = (_open_output(slot, output_bytes) for _ in range(2))


def _open_output(slot: Slot, output_bytes: int) -> LiveOutput:
    reader, child_fd = os.pipe2(os.O_CLOEXEC)
    os.fchmod(child_fd, 0o666)
    return LiveOutput(reader, child_fd, output_bytes, slot.cancel)


class StreamedRun(LiveRun):
    """A run on three pipes."""

    def __init__(self, pipes: Pipes, slot: Slot) -> None:
        super().__init__(slot)
        self._pipes = pipes

    async def read(self) -> LiveChunk | None:
        """Waits for the next chunk of stdout or stderr; returns None at the end of both."""
        taken = await take_first((self._pipes.stdout, self._pipes.stderr))
        if taken is None:
            return None
        index, data = taken
        return LiveChunk(OutputName.STDERR if index else OutputName.STDOUT, data)

    async def write(self, data: bytes) -> None:
        """Waits until the program has space for the data; drops it if nobody can read it."""
        await self._pipes.stdin.write(data)

    async def end_input(self) -> None:
        """Closes the program's stdin after everything that was written before."""
        await self._pipes.stdin.end()
