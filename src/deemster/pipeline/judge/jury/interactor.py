"""Runs a program and the interactor against each other, and decides which of them failed."""

import asyncio
import signal
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from deemster.domain.run_status import RunStatus
from deemster.domain.verdict import VERDICT_OF_STATUS, Verdict
from deemster.pipeline.judge.jury.checker import (
    CheckerFiles,
    CheckerRun,
    CheckResult,
    judge_error,
    read_answer,
)
from deemster.pipeline.judge.jury.programs import PreparedJuryProgram
from deemster.pipeline.judge.jury.protocols import (
    INTERACTOR_OUTPUT,
    CheckerOutput,
    CheckerProtocol,
)
from deemster.programs.output import HEAD_BYTES
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import Command
from deemster.sandbox.hang import LONGEST_S, Hang, Side
from deemster.sandbox.pair import Pair, RecordSide
from deemster.sandbox.staging import Stage
from deemster.sandbox.streams import Sink
from deemster.sandbox.wire import Report

MARGIN_S = 3.0
"""How long an interactor may go on after the program's wall limit, if the program has ended."""
BUSY_SHARE = 0.5
"""An interactor that wanted to run for more of the time than this was computing."""


@dataclass(frozen=True, slots=True)
class Interaction:
    report: Report
    checked: CheckResult | None
    """The interactor's result; None if the program failed by itself."""
    output: Path | None = None
    """The file that a testlib interactor leaves for the checker."""


async def interact(  # noqa: PLR0913 - options for two programs
    boxes: Boxes,
    program: Command,
    interactor: PreparedJuryProgram,
    protocol: CheckerProtocol,
    run: CheckerRun,
    *,
    stage: Stage | None = None,
    stderr: Sink | None = None,
    hold_output: bool = True,
    record: RecordSide | None = None,
) -> Interaction:
    """With `hold_output`, only the end of the program ends its output for the interactor.

    So a program that closes its stdout and then crashes or hangs is judged by that, as Kattis
    and BAPCtools do. DOMjudge passes the end of the output on at once, and a program that
    waits until its wall limit is too slow there, whatever the interactor does.
    """
    files = await asyncio.to_thread(run.files, protocol, (INTERACTOR_OUTPUT,))
    paths = run.paths(run.case.checker_args)
    wall_s = program.limits.wall_ms / 1000
    # Both outlive the pair's clock, so that `decide_hang` decides who is slow.
    later_ms = program.limits.wall_ms + round(1000 * (LONGEST_S + 2 * MARGIN_S))
    limits = replace(run.limits, wall_ms=max(run.limits.wall_ms, later_ms))
    companion = interactor.command(protocol.argv(paths), limits, run.root)
    if hold_output:
        program = replace(program, limits=replace(program.limits, wall_ms=later_ms))
    pair = await boxes.run_pair(
        program,
        companion,
        wall_s=wall_s if hold_output else wall_s + MARGIN_S,
        margin_s=MARGIN_S if hold_output else 0.0,
        cancel_program_if=lambda report: not accepts(protocol, report),
        program_stage=stage,
        program_stderr=stderr,
        stage=interactor.staged(files.stage),
        collect=files.collect,
        drain_unread=True,
        hold_output=hold_output,
        record=record,
    )
    return await asyncio.to_thread(decide, pair, interactor.name, protocol, files)


class Transcript:
    """The beginning of an interaction, in the form of the samples of ICPC packages."""

    MARKS: ClassVar[Mapping[Side, str]] = {"program": ">", "companion": "<"}

    def __init__(self) -> None:
        self._lines: list[tuple[Side, bytearray]] = []
        self._room = HEAD_BYTES

    def __call__(self, side: Side, data: bytes) -> None:
        data, self._room = data[: self._room], self._room - len(data[: self._room])
        for line in data.splitlines(keepends=True):
            if self._lines and self._is_open(side):
                self._lines[-1][1].extend(line)
            else:
                self._lines.append((side, bytearray(line)))

    def _is_open(self, side: Side) -> bool:
        last_side, text = self._lines[-1]
        return last_side == side and not text.endswith(b"\n")

    @property
    def text(self) -> str:
        """`>` marks what the program wrote, `<` what it read."""
        lines = [
            f"{self.MARKS[side]}{text.decode(errors='replace').rstrip()}\n"
            for side, text in self._lines
        ]
        return "".join(lines) + ("…" if self._room == 0 else "")


class WrittenBytes:
    """Counts what the program writes in an interaction."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, side: Side, data: bytes) -> None:
        if side == "program":
            self.count += len(data)


def accepts(protocol: CheckerProtocol, report: Report) -> bool:
    """Whether the program may run on after the interactor ended like this."""
    if report.status not in {RunStatus.OK, RunStatus.NONZERO_EXIT}:
        return False
    stderr = report.stderr.decode(errors="replace")
    answer = protocol.read(CheckerOutput(report.exit_code or 0, "", stderr))
    return answer.verdict in {Verdict.ACCEPTED, Verdict.PARTIAL}


def decide(
    pair: Pair, name: str, protocol: CheckerProtocol, files: CheckerFiles
) -> Interaction:
    """The side that failed first decides the verdict: its failure may cause the other one."""
    program = pair.program
    if pair.hang is not None and program.status in {RunStatus.OK, RunStatus.CANCELLED}:
        return decide_hang(pair, pair.hang, name)
    checked = read_answer(name, protocol, pair.companion, files)
    broken_pipe = pair.ended_first == "companion" and program.signal == signal.SIGPIPE
    failed = program.status is not RunStatus.OK and not broken_pipe
    if failed and (pair.ended_first == "program" or checked.verdict is Verdict.ACCEPTED):
        return Interaction(program, None)
    return Interaction(program, checked, files.collected(INTERACTOR_OUTPUT))


def decide_hang(pair: Pair, hang: Hang, name: str) -> Interaction:
    """The interactor is at fault if it was computing or had unread input; else the program.

    Time in which the interactor waited for a core counts as computing: on a busy machine it
    gets little CPU time. An interactor that still reads what the program writes is not stuck,
    however much time it uses: the program could go on asking without end.
    """
    program, companion = pair.program, pair.companion
    wanted_ns = max(companion.cpu_ns, hang.companion_ready_ns)
    left_ns = companion.wall_ns - program.cpu_ns  # they share a core
    stuck = companion.status is RunStatus.CANCELLED and not hang.companion_read
    busy = stuck and wanted_ns > BUSY_SHARE * left_ns
    if hang.blame == "companion" or busy:
        reason = "was still computing" if busy else "didn't read the program's output"
        stderr = companion.stderr.decode(errors="replace")
        message = f"{name} {reason} when its time was up."
        checked = judge_error(message, stderr, RunStatus.WALL_LIMIT)
        return Interaction(program, checked)
    if program.status is RunStatus.CANCELLED:
        program = replace(program, status=RunStatus.WALL_LIMIT)
    return Interaction(program, CheckResult(VERDICT_OF_STATUS[RunStatus.WALL_LIMIT]))
