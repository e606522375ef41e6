"""Observes a program and its interactor whose time is up, to tell which of them hangs."""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final, Literal

from deemster.sandbox.activity import Activity
from deemster.sandbox.pipe import Pipe, PipeMonitor
from deemster.sandbox.wire import Report

Side = Literal["program", "companion"]

SAMPLES: Final = 100
SAMPLE_INTERVAL_S: Final = 0.002
"""A single sample says little: two programs that talk always have data in a pipe."""
ENOUGH_CPU_NS: Final = 30_000_000
"""With so much CPU time, a program that wants to read, write or compute has done it."""
LONGEST_S: Final = 15.0
"""How long a pair on a busy machine is observed at most."""


@dataclass(frozen=True, slots=True)
class PairMember:
    """One of the two runs, how to end it early, and what its processes do."""

    task: asyncio.Task[Report]
    cancel: Callable[[], None]
    read_activity: Callable[[], Activity]

    def end(self) -> None:
        if not self.task.done():
            self.cancel()


@dataclass(frozen=True, slots=True)
class Hang:
    """Why a pair had to be ended by its clock."""

    blame: Side
    companion_read: bool = False
    """The companion was still reading what the program wrote."""
    companion_ready_ns: int = 0
    """How long the companion had run or waited for a core; 0 if that is not known."""


class ProcessMonitor:
    """Tells whether a program has run enough to show what it does."""

    def __init__(self, read: Callable[[], Activity]) -> None:
        self._read = read
        self._first = self._last = read()
        self._samples = self._ready_samples = 0

    def sample(self) -> None:
        self._last = self._read()
        self._samples += 1
        self._ready_samples += self._last.is_ready

    @property
    def is_starved(self) -> bool:
        """Whether it often wanted to run, but got hardly any CPU time: others use the cores."""
        wants_to_run = 4 * self._ready_samples > self._samples
        return wants_to_run and self._last.cpu_ns - self._first.cpu_ns < ENOUGH_CPU_NS

    @property
    def ready_ns(self) -> int:
        return self._last.cpu_ns + self._last.queued_ns


async def observe_hang(
    to_companion: Pipe, to_program: Pipe, program: PairMember, companion: PairMember
) -> Hang | None:
    """Samples pipes and processes; returns None as soon as one of the two has ended.

    To blame is the companion if at every sample it had something to read and space to write,
    but read nothing; or if only the companion wrote and the program read it. A side that a
    busy machine keeps from running is observed until it has run for a while.
    """
    companion_idle, ended = True, to_companion.has_ended()
    loop = asyncio.get_running_loop()
    latest_s = loop.time() + LONGEST_S
    sides = tuple(ProcessMonitor(each.read_activity) for each in (program, companion))
    with ExitStack() as closing:
        questions = PipeMonitor(to_companion, closing)
        answers = PipeMonitor(to_program, closing)
        samples = 0
        while samples < SAMPLES or (
            loop.time() < latest_s and any(each.is_starved for each in sides)
        ):
            if program.task.done() or companion.task.done():
                return None
            questions.sample()
            answers.sample()
            for side in sides:
                side.sample()
            has_input = ended or questions.unread_bytes > 0
            companion_idle = companion_idle and has_input and not to_program.is_full()
            samples += 1
            await asyncio.sleep(SAMPLE_INTERVAL_S)
    if companion_idle:
        blame: Side = "program" if questions.is_read else "companion"
    else:
        wrote_alone = answers.is_read and not questions.is_written
        blame = "companion" if wrote_alone else "program"
    return Hang(blame, questions.is_read, sides[1].ready_ns)
