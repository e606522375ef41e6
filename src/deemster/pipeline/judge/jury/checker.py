"""Runs checkers on a program's output, each in its own sandbox with its own limits."""

import asyncio
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from deemster.domain.limits import Limits
from deemster.domain.problem import Case, JuryProgram, ProgramCheck
from deemster.domain.run_status import RunStatus
from deemster.domain.scoring import NOT_GIVEN, GivenScore
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.jury.programs import SCRATCH_BYTES, PreparedJuryProgram
from deemster.pipeline.judge.jury.protocols import (
    CHECKERS,
    FEEDBACK,
    CheckerAnswer,
    CheckerOutput,
    CheckerPaths,
    CheckerProtocol,
    with_unit,
)
from deemster.programs.scratch import MAX_BYTES, OutputCollector, stage_file
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import DATA_DIR, WORK_DIR
from deemster.sandbox.staging import Scratch
from deemster.sandbox.streams import SealedInput
from deemster.sandbox.wire import Report

LATER_INPUT = "pass.in"
"""The input of a later pass, which is not a file of the package."""
NEXT_INPUT = "nextpass.in"
EMPTY_FILE = "/dev/null"
STDERR_BYTES = 16_384
TEXT_BYTES = 64 * 1024
"""The most that is read of a feedback file."""
SCORE_FILES = ("score.txt", "score_multiplier.txt")


@dataclass(frozen=True, slots=True)
class CheckResult:
    verdict: Verdict
    score: GivenScore = NOT_GIVEN
    jury_message: str = ""
    team_message: str = ""
    next_input: Path | None = None
    """The input of the next pass, if the checker asks for one."""
    feedback: Path | None = None
    """The checker's feedback directory, which the next pass needs."""
    jury_status: RunStatus | None = None
    """How the jury's program ended if that is the cause of a Judge Error."""


@dataclass(frozen=True, slots=True)
class CheckerRun:
    """What the checkers of one case get in one pass."""

    root: Path
    """The directory of the revision, mounted at /data."""
    case: Case
    limits: Limits
    directory: Path
    """Our directory for the files that the checkers write."""
    pass_input: Path | None = None
    """Replaces the input of the case from the second pass on."""
    previous_feedback: Path | None = None

    def paths(self, args: tuple[str, ...]) -> CheckerPaths:
        case_input = f"{DATA_DIR}/{self.case.input}" if self.case.input else EMPTY_FILE
        return CheckerPaths(
            input=case_input if self.pass_input is None else f"{WORK_DIR}/{LATER_INPUT}",
            answer=f"{DATA_DIR}/{self.case.answer}" if self.case.answer else EMPTY_FILE,
            args=args,
        )

    def files(
        self, protocol: CheckerProtocol, extra_outputs: tuple[str, ...] = ()
    ) -> "CheckerFiles":
        return CheckerFiles(
            target=Path(tempfile.mkdtemp(dir=self.directory)),
            previous_feedback=self.previous_feedback,
            files={} if self.pass_input is None else {LATER_INPUT: self.pass_input},
            links=protocol.links(self.paths(())),
            extra_outputs=extra_outputs,
        )


@dataclass(slots=True)
class CheckerFiles:
    """The files in a checker's scratch directory before and after its run."""

    target: Path
    """An empty directory of ours that the output files are copied to."""
    previous_feedback: Path | None = None
    files: Mapping[str, Path] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    extra_outputs: tuple[str, ...] = ()
    """Files that are copied out besides the feedback directory."""
    problem: str = ""
    is_too_large: bool = False

    def stage(self, scratch: Scratch) -> None:
        scratch.make_directory(FEEDBACK)
        if self.previous_feedback is not None:
            copy_feedback(self.previous_feedback, scratch, FEEDBACK)
        for name, path in self.files.items():
            stage_file(scratch, name, path)
        for name, target in self.links.items():
            scratch.make_link(name, target)

    def collect(self, scratch_fd: int) -> None:
        """An extra output may be missing, but what is there must not be ignored: a contestant
        could make it so large that the program that checks it is left out.
        """
        for name in (FEEDBACK, *self.extra_outputs):
            max_bytes = MAX_BYTES if name == FEEDBACK else SCRATCH_BYTES
            collector = OutputCollector(name, self.target, max_bytes=max_bytes)
            collector(scratch_fd)
            if collector.problem and (name == FEEDBACK or is_present(scratch_fd, name)):
                self.problem = collector.problem
                self.is_too_large = collector.is_too_large

    def texts(self) -> dict[str, str]:
        """The feedback files by name, each up to TEXT_BYTES."""
        found = {}
        for path in self.target.iterdir():
            if path.is_file() and path.name not in {NEXT_INPUT, *self.extra_outputs}:
                with path.open("rb") as opened:
                    found[path.name] = opened.read(TEXT_BYTES).decode(errors="replace")
        return found

    def collected(self, name: str) -> Path | None:
        path = self.target / name
        return path if path.is_file() else None


def is_present(scratch_fd: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=scratch_fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def copy_feedback(directory: Path, scratch: Scratch, target: str) -> None:
    for path in directory.iterdir():
        copy = f"{target}/{path.name}"
        if path.is_dir():
            scratch.make_directory(copy)
            copy_feedback(path, scratch, copy)
        elif path.name != NEXT_INPUT:
            stage_file(scratch, copy, path)


async def check_output(
    boxes: Boxes,
    check: ProgramCheck,
    programs: Mapping[JuryProgram, PreparedJuryProgram],
    run: CheckerRun,
    output: bytes | int | SealedInput,
) -> CheckResult:
    """Runs the checkers in order until one of them does not accept."""
    checked = CheckResult(Verdict.ACCEPTED)
    protocol = CHECKERS[check.protocol]
    for program in (programs[each] for each in check.programs):
        files = run.files(protocol)
        paths = run.paths(run.case.checker_args)
        command = program.command(protocol.argv(paths), run.limits, run.root)
        report = await boxes.run(
            command, stdin=output, stage=program.staged(files.stage), collect=files.collect
        )
        checked = await asyncio.to_thread(read_answer, program.name, protocol, report, files)
        if checked.verdict is not Verdict.ACCEPTED:
            break
    return replace(checked, score=with_unit(checked.score, check.points_unit))


def read_answer(
    name: str, protocol: CheckerProtocol, report: Report, files: CheckerFiles
) -> CheckResult:
    """Reads what a jury program decided; anything unexpected is a Judge Error (J4)."""
    stderr = report.stderr[:STDERR_BYTES].decode(errors="replace")
    if report.status not in {RunStatus.OK, RunStatus.NONZERO_EXIT}:
        return judge_error(f"{name} ended with {report.status}.", stderr, report.status)
    if files.problem:
        status = RunStatus.OUTPUT_LIMIT if files.is_too_large else None
        reason = f"The feedback of {name} can't be read: {files.problem}"
        return judge_error(reason, stderr, status)
    stdout = report.stdout[:STDERR_BYTES].decode(errors="replace")
    output = CheckerOutput(report.exit_code or 0, stdout, stderr, files.texts())
    answer = protocol.read(output)
    if answer.verdict is None:
        scores = [each for each in SCORE_FILES if each in output.files]
        also = f", or {' and '.join(scores)} contains no number" if scores else ""
        return judge_error(
            f"{name} ended with the unexpected exit code {output.exit_code}{also}.",
            answer.jury_message,
            report.status,
        )
    return read_next_pass(name, answer, files)


def read_next_pass(name: str, answer: CheckerAnswer, files: CheckerFiles) -> CheckResult:
    assert answer.verdict is not None
    next_input = files.collected(NEXT_INPUT)
    if next_input is not None and answer.verdict is not Verdict.ACCEPTED:
        return judge_error(f"{name} rejected and asked for another pass.", answer.jury_message)
    return CheckResult(
        answer.verdict,
        answer.score,
        answer.jury_message,
        answer.team_message,
        next_input,
        files.target,
    )


def judge_error(reason: str, message: str = "", status: RunStatus | None = None) -> CheckResult:
    return CheckResult(
        Verdict.JUDGE_ERROR, jury_message=f"{reason}\n{message}".strip(), jury_status=status
    )
