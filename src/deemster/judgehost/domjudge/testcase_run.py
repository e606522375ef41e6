"""Runs a compiled submission on one test case and lets the jury's programs judge it."""

import asyncio
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from deemster.domain.errors import Unavailable
from deemster.domain.problem import Case, JuryProgram, ProgramCheck, ProtocolName
from deemster.domain.verdict import Verdict
from deemster.judgehost.domjudge.compilation import PROGRAM
from deemster.judgehost.domjudge.executables import RUN, SCRIPT_PROFILE
from deemster.judgehost.domjudge.internal_error import Disabled, InternalError
from deemster.judgehost.domjudge.limits import program_limits, script_limits, time_limit
from deemster.judgehost.domjudge.result import (
    ProgramEnd,
    RunResult,
    explain,
    metadata_text,
    output_result,
    program_failure,
    program_metadata,
)
from deemster.judgehost.domjudge.tasks import JudgingTask, ServerConfig
from deemster.judgehost.domjudge.testcases import ANSWER, INPUT, TestcaseFiles
from deemster.pipeline.judge.jury.checker import (
    NEXT_INPUT,
    CheckerRun,
    CheckResult,
    check_output,
)
from deemster.pipeline.judge.jury.interactor import interact
from deemster.pipeline.judge.jury.programs import PreparedJuryProgram
from deemster.pipeline.judge.jury.protocols import CHECKERS
from deemster.programs.workspace import make_directory
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import CODE_DIR, DATA_DIR, Command
from deemster.sandbox.lanes import Lanes
from deemster.sandbox.streams import SealedInput

PROGRAM_DIR, RUN_DIR = "program", "run"
STDOUT: Final = "/dev/stdout"
INTERACTIVE_WALL_FACTOR: Final = 2
"""The jury's program is assumed to take as long as the contestant's."""
EXIT_CODES: Final = {Verdict.ACCEPTED: 42, Verdict.WRONG_ANSWER: 43}


class OutputFile:
    """A sink that writes a program's output to a file.

    Calling it never raises, because the event loop calls it; `close` raises Unavailable.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size_bytes = 0
        self._file: BinaryIO = path.open("xb", buffering=0)
        self._fault: OSError | None = None

    def __call__(self, data: bytes) -> None:
        if self._fault is not None:
            return
        try:
            view = memoryview(data)
            while view:
                view = view[self._file.write(view) :]
            self.size_bytes += len(data)
        except OSError as fault:
            self._fault = fault

    def close(self) -> None:
        self._file.close()
        if self._fault is not None:
            raise Unavailable(
                f"The output of a program could not be kept in {self.path.parent} "
                f"({self._fault.strerror}): free some space there."
            )


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """The result of one pass; the directory has the files that DOMjudge's daemon leaves."""

    result: RunResult
    run: ProgramEnd
    directory: Path
    jury_message: str
    compare_metadata: str = ""

    @property
    def next_input(self) -> Path | None:
        path = self.directory / "feedback" / NEXT_INPUT
        return path if self.result is RunResult.CORRECT and path.is_file() else None


@dataclass(frozen=True, slots=True)
class PassInput:
    """The input of a pass, for the program and, if it is not the first pass, for the jury."""

    for_program: Path
    for_jury: Path | None = None
    feedback: Path | None = None
    """What the jury's program wrote in the pass before."""


@dataclass(frozen=True, slots=True)
class TestcaseRunner:
    """Runs one task; `code` has the program and, beside it, the run executable."""

    __test__ = False

    lanes: Lanes
    task: JudgingTask
    config: ServerConfig
    code: Path
    run_executable: Path
    compare_executable: Path | None
    """None: the run executable talks to the program and judges it."""

    async def judge(self, files: TestcaseFiles, directory: Path) -> JudgedRun:
        """Returns the last pass. Raises InternalError if the jury's program fails."""
        given = PassInput(files.for_program)
        for number in range(1, self._most_passes + 1):
            place = make_directory(directory / str(number))
            judged = await self._judge_pass(files, given, place)
            next_input = judged.next_input
            if next_input is None:
                return judged
            given = await asyncio.to_thread(prepare_pass, place, next_input)
        raise self._jury_fault("The validator wanted more passes than allowed.")

    @property
    def _most_passes(self) -> int:
        return max(1, self.task.run_config.pass_limit or 1)

    async def _judge_pass(
        self, files: TestcaseFiles, given: PassInput, place: Path
    ) -> JudgedRun:
        checker_dir = make_directory(place / "checker")
        case = Case(
            self.task.testcase,
            INPUT,
            ANSWER,
            checker_args=tuple((self.task.compare_config.compare_args or "").split()),
        )
        checking = CheckerRun(
            files.for_jury,
            case,
            script_limits(self.task.compare_config),
            checker_dir,
            given.for_jury,
            given.feedback,
        )
        async with self.lanes.acquire() as boxes:
            if self.compare_executable is None:
                judged = await self._interact(boxes, checking, place)
            else:
                judged = await self._run_and_compare(boxes, checking, given, place)
        (place / "program.meta").write_text(program_metadata(judged.run))
        (place / "compare.meta").write_text(judged.compare_metadata)
        (place / "system.out").write_text(explain(judged.run, judged.result))
        with suppress(OSError):
            checker_dir.rmdir()
        return judged

    async def _run_and_compare(
        self, boxes: Boxes, checking: CheckerRun, given: PassInput, place: Path
    ) -> JudgedRun:
        limit = time_limit(self.task.run_config, self.config.timelimit_overshoot)
        stdout, stderr = OutputFile(place / "program.out"), OutputFile(place / "program.err")
        command = Command(
            argv=(
                f"{CODE_DIR}/{RUN_DIR}/{RUN}",
                f"{DATA_DIR}/{INPUT}",
                STDOUT,
                f"{CODE_DIR}/{PROGRAM_DIR}/{PROGRAM}",
            ),
            limits=program_limits(self.task.run_config, limit),
            profile=SCRIPT_PROFILE,
            code=self.code,
            data=given.for_program,
        )
        try:
            report = await boxes.run(command, stdout=stdout, stderr=stderr)
        finally:
            stdout.close()
            stderr.close()
        run = ProgramEnd(report, limit, stdout.size_bytes, stderr.size_bytes)
        failure = program_failure(run)
        # The jury also wants to see what is wrong in the output of a program that failed.
        checked = await self._compare(boxes, checking, stdout.path)
        if failure is not None:
            return finish(failure, run, checked, place)
        self._refuse_judge_error(checked)
        return finish(output_result(run, checked.verdict), run, checked, place)

    async def _compare(self, boxes: Boxes, checking: CheckerRun, output: Path) -> CheckResult:
        assert self.compare_executable is not None
        program = JuryProgram("The compare executable", "", scripted=True)
        check = ProgramCheck((program,), ProtocolName.ICPC)
        jury = PreparedJuryProgram(program.name, (), None, self.compare_executable)
        with await SealedInput.load(output) as sealed:
            return await check_output(boxes, check, {program: jury}, checking, sealed)

    async def _interact(self, boxes: Boxes, checking: CheckerRun, place: Path) -> JudgedRun:
        limit = time_limit(self.task.run_config, self.config.timelimit_overshoot)
        stderr = OutputFile(place / "program.err")
        OutputFile(place / "program.out").close()
        command = Command(
            argv=(f"{CODE_DIR}/{PROGRAM}",),
            limits=program_limits(
                self.task.run_config, limit, wall_factor=INTERACTIVE_WALL_FACTOR
            ),
            profile=SCRIPT_PROFILE,
            code=self.code / PROGRAM_DIR,
        )
        jury = PreparedJuryProgram("The run executable", (), None, self.run_executable)
        try:
            played = await interact(
                boxes,
                command,
                jury,
                CHECKERS[ProtocolName.ICPC],
                checking,
                stderr=stderr,
                hold_output=False,
            )
        finally:
            stderr.close()
        run = ProgramEnd(played.report, limit, 0, stderr.size_bytes, is_interactive=True)
        checked = played.checked
        if checked is None:  # the program failed first
            failure = program_failure(run) or RunResult.RUN_ERROR
            return finish(failure, run, None, place)
        self._refuse_judge_error(checked)
        if checked.verdict is Verdict.TIME_LIMIT:
            return finish(RunResult.TIMELIMIT, run, checked, place)
        accepted = checked.verdict is Verdict.ACCEPTED
        if accepted and run.is_slow:
            return finish(RunResult.TIMELIMIT, run, checked, place)
        return finish(output_result(run, checked.verdict), run, checked, place)

    def _refuse_judge_error(self, checked: CheckResult) -> None:
        if checked.verdict is Verdict.JUDGE_ERROR:
            raise self._jury_fault("The jury's program crashed.", checked.jury_message)

    def _jury_fault(self, reason: str, details: str = "") -> InternalError:
        if self.compare_executable is None:
            disabled = Disabled.script("run", self.task.run_script)
            name = f"combined run/compare script {self.task.run_script}"
        else:
            disabled = Disabled.script("compare", self.task.compare_script or "")
            name = f"compare script {self.task.compare_script}"
        return InternalError(f"compare-error: {name} failed. {reason}", disabled, details)


def finish(
    result: RunResult, run: ProgramEnd, checked: CheckResult | None, place: Path
) -> JudgedRun:
    """Keeps the files that the jury's program left, as the directory `feedback`."""
    feedback = place / "feedback"
    if checked is not None and checked.feedback is not None:
        checked.feedback.rename(feedback)
        feedback.chmod(0o755)
    facts: dict[str, object] = {}
    if checked is not None and checked.verdict in EXIT_CODES:
        facts["exitcode"] = EXIT_CODES[checked.verdict]
    message = checked.jury_message if checked is not None else ""
    return JudgedRun(result, run, place, message, metadata_text(facts))


def prepare_pass(place: Path, next_input: Path) -> PassInput:
    """Prepares the pass after the one whose files are in `place`."""
    for_program = make_directory(place / "next")
    shutil.copyfile(next_input, for_program / INPUT)
    (for_program / INPUT).chmod(0o644)
    return PassInput(for_program, for_program / INPUT, place / "feedback")
