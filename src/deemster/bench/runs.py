"""Runs `true` once, bare or in the sandbox, and times such runs in turns."""

import asyncio
import gc
import os
import socket
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from deemster.bench.other_sandboxes import PROGRAM, Argv
from deemster.domain.errors import Unavailable
from deemster.domain.limits import Limits
from deemster.pipeline.judge.verify.progress import Progress
from deemster.sandbox import wire
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import ENVIRONMENT

PARALLEL_S = 0.4


class BareRun:
    """posix_spawn and wait4, with nothing in between."""

    def __init__(self, argv: Argv) -> None:
        self._argv = argv
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        self._actions = [(os.POSIX_SPAWN_DUP2, null, number) for number in range(3)]

    def __call__(self) -> None:
        self.cpu_ms()

    def cpu_ms(self) -> float:
        """Runs the program and returns its CPU time."""
        pid = os.posix_spawn(self._argv[0], self._argv, {}, file_actions=self._actions)
        _, status, usage = os.wait4(pid, 0)
        if status != 0:
            raise Unavailable(f"{self._argv[0]} failed in the middle of the measurement.")
        return (usage.ru_utime + usage.ru_stime) * 1000


class SandboxRun:
    """A run through a slot's raw channel: the cost of the sandbox without the Python API."""

    def __init__(self, boxes: Boxes, channel: socket.socket) -> None:
        self._channel = channel
        self._null = [os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)] * 3
        profile = boxes.profile_index("program")
        self._packet = wire.pack_request((PROGRAM,), ENVIRONMENT, Limits(), profile)

    def __call__(self) -> None:
        socket.send_fds(self._channel, [self._packet], self._null)
        report = wire.unpack_report(self._channel.recv(wire.REPORT.size))
        if report.end is not wire.End.EXITED or report.code != 0:
            raise Unavailable(f"The sandbox failed in the middle of the measurement: {report}.")


@dataclass(frozen=True, slots=True)
class TimedRun:
    name: str
    once: Callable[[], Awaitable[object] | None]
    over: str = "bare"
    """Name of the run that its ratio refers to."""
    idle_s: float = 0.0
    samples_ms: list[float] = field(default_factory=list)

    async def take_turn(self, runs: int) -> None:
        if not self.idle_s:
            await self._run()  # not counted: the caches hold the data of another run
        for _ in range(runs):
            if self.idle_s:
                await asyncio.sleep(self.idle_s)
            began_ns = time.perf_counter_ns()
            await self._run()
            self.samples_ms.append((time.perf_counter_ns() - began_ns) / 1e6)

    async def _run(self) -> None:
        pending = self.once()
        if pending is not None:
            await pending

    def figures(self) -> dict[str, float]:
        ordered = sorted(self.samples_ms)
        p99_ms = ordered[min(len(ordered) - 1, round(len(ordered) * 0.99))]
        return {"median_ms": round(statistics.median(ordered), 4), "p99_ms": round(p99_ms, 4)}


class RepeatedRun(Protocol):
    async def take_turn(self, runs: int) -> None: ...


async def take_turns(
    kinds: Sequence[RepeatedRun], runs: int, runs_in_turn: int, progress: Progress
) -> None:
    """Makes so many runs of each kind, a few of one kind in a row before the next kind."""
    starts = range(0, runs, runs_in_turn)
    with progress.step("Measuring", len(starts) * len(kinds)) as advance:
        for start in starts:
            for kind in kinds:
                await kind.take_turn(min(runs_in_turn, runs - start))
                advance()


async def measure_parallel(boxes: Boxes, cpus: Sequence[int], rounds: int) -> dict[str, float]:
    """Runs per second with one slot and with two, in turns.

    The thread that drives a slot runs on the slot's own core, so that one slot uses one core.
    """
    async with boxes.raw_slot() as one, boxes.raw_slot() as other:
        slots = sorted((one, other), key=lambda slot: slot.number)
        drivers = [
            (SandboxRun(boxes, slot.channel), cpus[slot.number % len(cpus)]) for slot in slots
        ]
        rates: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(rounds):
            for used, seen in rates.items():
                count = await asyncio.to_thread(run_side_by_side, drivers[:used])
                seen.append(count / PARALLEL_S)
    ratio = statistics.median(two / one for one, two in zip(rates[1], rates[2], strict=True))
    return {
        "one_per_s": round(statistics.median(rates[1]), 1),
        "two_per_s": round(statistics.median(rates[2]), 1),
        "ratio": round(ratio, 3),
    }


def run_side_by_side(drivers: list[tuple[SandboxRun, int]]) -> int:
    until = time.monotonic() + PARALLEL_S

    def drive(driver: tuple[SandboxRun, int]) -> int:
        sandbox, cpu = driver
        os.sched_setaffinity(0, {cpu})  # of this thread only
        sandbox()  # at least one run, also on a very busy machine
        runs = 1
        while time.monotonic() < until:
            sandbox()
            runs += 1
        return runs

    with ThreadPoolExecutor(len(drivers)) as threads:
        return sum(threads.map(drive, drivers))


@contextmanager
def garbage_collector_off() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
