"""Runs a program whose input is typed and whose output is read while it runs (E5, E7)."""

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Final, Protocol

from deemster.domain.execution import SIZE, ExecutionDetails, ProgramIo, Stream, TypedInput
from deemster.domain.ids import ExecutionId
from deemster.domain.run_status import RunStatus
from deemster.pipeline.execute.output_log import OutputLog
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import Command
from deemster.sandbox.live_run import OutputName, StreamedRun
from deemster.sandbox.slot import Collect
from deemster.sandbox.staging import Stage
from deemster.sandbox.terminal import TerminalRun, TerminalSize
from deemster.sandbox.wire import Report

SIGNALS: Final = {each.name: each for each in signal.Signals}
MOMENT_S: Final = 0.2
"""A signal waits this long for what was typed before it."""


class InputSource(Protocol):
    def follow(self, execution: ExecutionId) -> AsyncIterator[TypedInput]:
        """All that is typed, from the beginning; it never ends."""
        ...


class LiveProgram:
    """One run with typed input; it is ended when nothing is typed or printed for a while."""

    def __init__(
        self, details: ExecutionDetails, inputs: InputSource, output: OutputLog, idle_s: float
    ) -> None:
        self._details = details
        self._inputs = inputs
        self._output = output
        self._idle_s = idle_s
        self._active = asyncio.Event()
        self._is_idle = False
        self._unwritten: asyncio.Queue[TypedInput] = asyncio.Queue()
        """At most as much as may be typed into one program."""

    async def run(
        self, boxes: Boxes, command: Command, stage: Stage | None, collect: Collect | None
    ) -> Report:
        if self._details.io is ProgramIo.TERMINAL:
            options = self._details.options
            size = TerminalSize(options.rows, options.columns)
            async with boxes.open_terminal(
                command, size, stage=stage, collect=collect
            ) as terminal:
                return await self._serve(terminal, lambda: self._copy_terminal(terminal))
        async with boxes.open_streams(command, stage=stage, collect=collect) as streams:
            return await self._serve(streams, lambda: self._copy_streams(streams))

    async def _serve(
        self, run: TerminalRun | StreamedRun, copy_output: Callable[[], Awaitable[None]]
    ) -> Report:
        async with asyncio.TaskGroup() as group:
            helpers = [
                group.create_task(self._feed(run)),
                group.create_task(self._write(run)),
                group.create_task(self._end_when_idle(run)),
            ]
            try:
                await copy_output()
                report = await run.report()
                self._add_reason(report)
            finally:
                for helper in helpers:
                    helper.cancel()
        idle = self._is_idle and report.status is RunStatus.CANCELLED
        return replace(report, status=RunStatus.WALL_LIMIT) if idle else report

    async def _copy_terminal(self, run: TerminalRun) -> None:
        while data := await run.read():
            self._active.set()
            self._output.add(Stream.STDOUT, data)

    async def _copy_streams(self, run: StreamedRun) -> None:
        is_one = self._details.options.stderr_to_stdout
        while (chunk := await run.read()) is not None:
            self._active.set()
            is_error = chunk.stream is OutputName.STDERR and not is_one
            if is_error and self._details.io is ProgramIo.LANGUAGE_SERVER:
                continue  # its log, which nobody reads
            self._output.add(Stream.STDERR if is_error else Stream.STDOUT, chunk.data)

    def _add_reason(self, report: Report) -> None:
        """Adds why the program was not started, which is in the report of a live run."""
        is_terminal = self._details.io is ProgramIo.TERMINAL
        is_one = is_terminal or self._details.options.stderr_to_stdout
        if report.stderr:
            self._output.add(Stream.STDOUT if is_one else Stream.STDERR, report.stderr)

    async def _feed(self, run: TerminalRun | StreamedRun) -> None:
        """A program that does not read its input must still get signals and sizes."""
        if self._details.stdin:
            self._unwritten.put_nowait(TypedInput(0, "data", self._details.stdin))
        async for typed in self._inputs.follow(self._details.id):
            self._active.set()
            if typed.kind in {"data", "end"}:
                self._unwritten.put_nowait(typed)
            elif typed.kind == "resize" and isinstance(run, TerminalRun):
                run.resize(*SIZE.unpack(typed.content))
            elif typed.kind == "signal":
                await self._send_signal(run, typed.content.decode(errors="replace"))

    async def _write(self, run: TerminalRun | StreamedRun) -> None:
        while True:
            typed = await self._unwritten.get()
            if typed.kind == "data":
                await run.write(typed.content)
            else:
                await run.end_input()
            self._unwritten.task_done()

    async def _send_signal(self, run: TerminalRun | StreamedRun, name: str) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(MOMENT_S):
                await self._unwritten.join()
        if name == "SIGINT" and isinstance(run, TerminalRun):
            # A program that has turned signals off reads it as a key, if it reads at all.
            with suppress(TimeoutError):
                async with asyncio.timeout(MOMENT_S):
                    await run.interrupt()
        elif name in SIGNALS:
            run.send_signal(SIGNALS[name])

    async def _end_when_idle(self, run: TerminalRun | StreamedRun) -> None:
        while True:
            self._active.clear()
            try:
                async with asyncio.timeout(self._idle_s):
                    await self._active.wait()
            except TimeoutError:
                self._is_idle = True
                run.cancel()
                return
