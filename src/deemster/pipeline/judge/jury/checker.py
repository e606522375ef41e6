"""Asks the jury's programs about an output: each in its own cage, each with its own limits."""

import asyncio
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from deemster.domain.limits import Limits
from deemster.domain.problem import Case, Program, ProgramCheck
from deemster.domain.run_status import RunStatus
from deemster.domain.scoring import NOT_GIVEN, GivenScore
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.jury.files import NEXT_INPUT, CheckerFiles
from deemster.pipeline.judge.jury.programs import JuryProgram
from deemster.pipeline.judge.jury.protocols import (
    CHECKERS,
    CheckerAnswer,
    CheckerOutput,
    CheckerPaths,
    CheckerProtocol,
    with_unit,
)
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import DATA_DIR, WORK_DIR
from deemster.sandbox.report import Report
from deemster.sandbox.streams import SealedInput

WORK_INPUT = "pass.in"
"""Where a validator finds the input of a later pass, which is no file of the package."""
EMPTY_FILE = "/dev/null"
STDERR_BYTES = 16_384
SCORE_FILES = ("score.txt", "score_multiplier.txt")


@dataclass(frozen=True, slots=True)
class CheckResult:
    verdict: Verdict
    given: GivenScore = NOT_GIVEN
    jury_message: str = ""
    team_message: str = ""
    next_input: Path | None = None
    """What the program reads in another pass."""
    feedback: Path | None = None
    """Kept for the next pass."""


@dataclass(frozen=True, slots=True)
class CheckerRun:
    """One pass of one case, as the jury's programs see it."""

    root: Path
    """The revision's directory, seen at /data."""
    case: Case
    limits: Limits
    place: Path
    """Ours, for what they leave."""
    pass_input: Path | None = None
    """Instead of the case's own input, from the second pass on."""
    earlier: Path | None = None
    """Their feedback of the pass before."""

    def papers(self, args: tuple[str, ...]) -> CheckerPaths:
        own = f"{DATA_DIR}/{self.case.input}" if self.case.input else EMPTY_FILE
        return CheckerPaths(
            input=own if self.pass_input is None else f"{WORK_DIR}/{WORK_INPUT}",
            answer=f"{DATA_DIR}/{self.case.answer}" if self.case.answer else EMPTY_FILE,
            args=args,
        )

    def tray(self, manner: CheckerProtocol, wanted: tuple[str, ...] = ()) -> CheckerFiles:
        return CheckerFiles(
            target=Path(tempfile.mkdtemp(dir=self.place)),
            earlier=self.earlier,
            files={} if self.pass_input is None else {WORK_INPUT: self.pass_input},
            links=manner.links(self.papers(())),
            wanted=wanted,
        )


async def check_output(
    boxes: Boxes,
    check: ProgramCheck,
    programs: Mapping[Program, JuryProgram],
    sitting: CheckerRun,
    output: bytes | int | SealedInput,
) -> CheckResult:
    """All must accept; the first that doesn't has the word."""
    checked = CheckResult(Verdict.ACCEPTED)
    manner = CHECKERS[check.protocol]
    for program in (programs[each] for each in check.programs):
        tray = sitting.tray(manner)
        papers = sitting.papers(sitting.case.checker_args)
        command = program.command(manner.argv(papers), sitting.limits, sitting.root)
        report = await boxes.run(
            command, stdin=output, stage=program.staged(tray.stage), collect=tray.collect
        )
        checked = await asyncio.to_thread(read_answer, program.name, manner, report, tray)
        if checked.verdict is not Verdict.ACCEPTED:
            break
    return replace(checked, given=with_unit(checked.given, check.points_unit))


def read_answer(
    name: str, manner: CheckerProtocol, report: Report, tray: CheckerFiles
) -> CheckResult:
    """What a jury program's end means; anything but an answer is the judge's error (J4)."""
    stderr = report.stderr[:STDERR_BYTES].decode(errors="replace")
    if report.status not in {RunStatus.OK, RunStatus.NONZERO_EXIT}:
        return fault(f"{name} ended with {report.status}.", stderr)
    if tray.problem:
        return fault(f"{name} left odd feedback: {tray.problem}", stderr)
    stdout = report.stdout[:STDERR_BYTES].decode(errors="replace")
    spoken = CheckerOutput(report.exit_code or 0, stdout, stderr, tray.texts())
    answer = manner.read(spoken)
    if answer.verdict is None:
        scores = [each for each in SCORE_FILES if each in spoken.files]
        also = f", or {' and '.join(scores)} is no number" if scores else ""
        return fault(
            f"{name} ended with exit code {spoken.exit_code}, which is no answer{also}.",
            answer.jury_message,
        )
    return settle_pass(name, answer, tray)


def settle_pass(name: str, answer: CheckerAnswer, tray: CheckerFiles) -> CheckResult:
    assert answer.verdict is not None
    next_input = tray.taken(NEXT_INPUT)
    if next_input is not None and answer.verdict is not Verdict.ACCEPTED:
        return fault(f"{name} rejected and asked for another pass.", answer.jury_message)
    return CheckResult(
        answer.verdict,
        answer.given,
        answer.jury_message,
        answer.team_message,
        next_input,
        tray.target,
    )


def fault(what: str, said: str) -> CheckResult:
    message = f"{what}\n{said}".strip()
    return CheckResult(Verdict.JUDGE_ERROR, jury_message=message)
