"""Lets a program and the jury's interactor talk, and says whose word counts at the end."""

import asyncio
import signal
from dataclasses import dataclass, replace
from pathlib import Path

from deemster.domain.run_status import RunStatus
from deemster.domain.verdict import VERDICT_OF_STATUS, Verdict
from deemster.pipeline.judge.jury.checker import CheckerRun, CheckResult, fault, read_answer
from deemster.pipeline.judge.jury.files import CheckerFiles
from deemster.pipeline.judge.jury.programs import JuryProgram
from deemster.pipeline.judge.jury.protocols import (
    INTERACTOR_OUTPUT,
    CheckerOutput,
    CheckerProtocol,
)
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import Command
from deemster.sandbox.pair import Pair
from deemster.sandbox.report import Report
from deemster.sandbox.slot import Collect
from deemster.sandbox.streams import Sink

MARGIN_S = 3.0
"""How long beyond its own limit a pair may take: the interactor needs time too."""
BUSY_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Interaction:
    """`checked` is the interactor's word, or nothing where the program failed by itself."""

    report: Report
    checked: CheckResult | None
    output: Path | None = None
    """What a testlib interactor leaves for the checker."""


async def interact(
    boxes: Boxes,
    program: Command,
    interactor: JuryProgram,
    manner: CheckerProtocol,
    sitting: CheckerRun,
    *,
    stage: Collect | None = None,
    stderr: Sink | None = None,
) -> Interaction:
    tray = await asyncio.to_thread(sitting.tray, manner, (INTERACTOR_OUTPUT,))
    papers = sitting.papers(sitting.case.checker_args)
    wall_s = program.limits.wall_ms / 1000 + MARGIN_S
    # It may wait as long as the program does: the clock of the pair says whom to blame.
    patience_ms = max(sitting.limits.wall_ms, round(1000 * (wall_s + MARGIN_S)))
    limits = replace(sitting.limits, wall_ms=patience_ms)
    companion = interactor.command(manner.argv(papers), limits, sitting.root)
    pair = await boxes.run_pair(
        program,
        companion,
        wall_s=wall_s,
        cancel_program_if=lambda report: not accepts(manner, report),
        program_stage=stage,
        program_stderr=stderr,
        stage=interactor.staged(tray.stage),
        collect=tray.collect,
        drain_unread=True,
    )
    return await asyncio.to_thread(settle, pair, interactor.name, manner, tray)


def accepts(manner: CheckerProtocol, report: Report) -> bool:
    """Whether the program may go on to its own end."""
    if report.status not in {RunStatus.OK, RunStatus.NONZERO_EXIT}:
        return False
    answer = manner.read(CheckerOutput(report.exit_code or 0, "", ""))
    return answer.verdict in {Verdict.ACCEPTED, Verdict.PARTIAL}


def settle(pair: Pair, name: str, manner: CheckerProtocol, tray: CheckerFiles) -> Interaction:
    """Who failed first, of themselves, has the blame; what follows from that has none."""
    program = pair.program
    if pair.hung:
        return settle_hang(pair, name)
    checked = read_answer(name, manner, pair.companion, tray)
    left_alone = pair.ended_first == "companion" and program.signal == signal.SIGPIPE
    failed = program.status is not RunStatus.OK and not left_alone
    if failed and (pair.ended_first == "program" or checked.verdict is Verdict.ACCEPTED):
        return Interaction(program, None)
    return Interaction(program, checked, tray.taken(INTERACTOR_OUTPUT))


def settle_hang(pair: Pair, name: str) -> Interaction:
    """Neither ended. The interactor is to blame if it had something to do and did not do it."""
    companion = pair.companion
    left_ns = companion.wall_ns - pair.program.cpu_ns  # they share a core
    busy = companion.cpu_ns > BUSY_SHARE * left_ns and not pair.flooded
    if pair.blame == "companion" or busy:
        what = "was still computing" if busy else "didn't read what the program wrote"
        said = companion.stderr.decode(errors="replace")
        return Interaction(pair.program, fault(f"{name} {what} at the end of its time.", said))
    return Interaction(pair.program, CheckResult(VERDICT_OF_STATUS[RunStatus.WALL_LIMIT]))
