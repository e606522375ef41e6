"""Judges one test case: runs the program on the input and checks its output."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from deemster.domain.judgement import NO_TEXT, JuryText, ProgramExit
from deemster.domain.limits import MIB, Limits, is_too_slow, measured_cpu_ms, wall_ms
from deemster.domain.problem import Case, Comparison, JuryProgram, Problem, ProgramCheck
from deemster.domain.run_status import RunStatus
from deemster.domain.scoring import NOT_GIVEN, GivenScore
from deemster.domain.source import files_beside
from deemster.domain.verdict import VERDICT_OF_STATUS, Verdict
from deemster.pipeline.judge.case_files import CaseFiles
from deemster.pipeline.judge.compare import (
    Comparer,
    ShortComparer,
    open_comparer,
    open_short_comparer,
)
from deemster.pipeline.judge.jury.checker import CheckerRun, CheckResult, check_output
from deemster.pipeline.judge.jury.checker_budget import CheckerBudget, is_far_too_large
from deemster.pipeline.judge.jury.interactor import Transcript, WrittenBytes, interact
from deemster.pipeline.judge.jury.programs import PreparedJuryProgram, jury_limits
from deemster.pipeline.judge.jury.protocols import INTERACTORS, with_unit
from deemster.programs.build.compile import CompiledProgram
from deemster.programs.execute import command_for, detect_memory_limit
from deemster.programs.output import FileOutput, Head, Spool, Tail, head_of_file
from deemster.programs.scratch import StagedFiles
from deemster.programs.workspace import workspace
from deemster.sandbox.boxes import Boxes, PreparedRun
from deemster.sandbox.command import Command
from deemster.sandbox.pair import RecordSide
from deemster.sandbox.streams import SealedInput
from deemster.sandbox.wire import Report

LONG_READ_BYTES = 4 << 20
"""Reading this much of an answer would block the event loop for too long."""
MIN_MEMORY_BYTES = MIB
"""A sandbox can't start with less."""
EMPTY_FILE = Path("/dev/null")
UNSHOWN = frozenset({Verdict.ACCEPTED, Verdict.PARTIAL, Verdict.JUDGE_ERROR})
FLOODED = frozenset({RunStatus.MEMORY_LIMIT, RunStatus.TIME_LIMIT, RunStatus.OUTPUT_LIMIT})
"""How an interactor ends if it tries to keep or to repeat all that a program writes."""
ENDED_BY_ITSELF = frozenset({RunStatus.OK, RunStatus.NONZERO_EXIT, RunStatus.SIGNALLED})


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """The result of one case before it is scored."""

    case: Case
    verdict: Verdict
    report: Report
    limit_ms: int
    score: GivenScore = NOT_GIVEN
    message: JuryText = NO_TEXT
    team_message: str = ""
    jury_status: RunStatus | None = None
    output: JuryText = NO_TEXT
    expected: JuryText = NO_TEXT
    stderr: JuryText = NO_TEXT
    cpu_ms: float = 0
    wall_ms: float = 0
    memory_bytes: int = 0

    @property
    def is_near_limit(self) -> bool:
        """Whether the program ended by itself, only a little too late (timing.py)."""
        ended = self.report.status in ENDED_BY_ITSELF
        return self.verdict is Verdict.TIME_LIMIT and ended

    @property
    def program_exit(self) -> ProgramExit:
        report = self.report
        return ProgramExit(report.status, report.exit_code, report.signal, report.syscall)


@dataclass(frozen=True, slots=True)
class RunResult:
    """One run of the program, with the result of the check if there was one."""

    report: Report
    stderr: str
    output: str = ""
    checked: CheckResult | None = None


CommandKey = tuple[int | None, int | None, tuple[str, ...]]
"""Time, memory and arguments of a case."""


@dataclass(frozen=True, slots=True)
class CaseJudge:
    root: Path
    """The directory of the revision."""
    problem: Problem
    program: CompiledProgram
    time_ms: int
    programs: Mapping[JuryProgram, PreparedJuryProgram]
    work_dir: Path
    spool_dir: Path
    data_files: Mapping[str, bytes]
    """Files of the submission that are put into the program's working directory."""
    files: CaseFiles
    time_factor: float = 1.0
    """Every time limit is multiplied by it."""
    checker_budget: CheckerBudget = field(default_factory=CheckerBudget)
    commands: dict[CommandKey, Command] = field(default_factory=dict)
    """The commands of the cases so far: most cases have the same."""

    async def judge(self, boxes: Boxes, case: Case) -> CaseOutcome:
        if self.can_prepare(case):
            with closing(await self.prepare(boxes, case)) as prepared:
                prepared.run.start()
                return await prepared.outcome()
        checker = case.checker or self.problem.checker
        if self.problem.interactor is None and isinstance(checker, Comparison):
            return await self._compare(boxes, case, checker)
        async with workspace(self.work_dir) as directory:
            run = CheckerRun(self.root, case, jury_limits(self.problem.limits), directory)
            return await self._run_passes(boxes, run)

    # ---- comparison ----

    def can_prepare(self, case: Case) -> bool:
        """Whether the program gets no files, and nothing but its stdout is compared."""
        checker = case.checker or self.problem.checker
        has_files = case.files or self.data_files
        named = self.problem.input_file or self.problem.output_file
        compared = self.problem.interactor is None and isinstance(checker, Comparison)
        return compared and not has_files and not named

    async def prepare(self, boxes: Boxes, case: Case) -> "PreparedCase":
        """Makes such a case ready in a free box, so that it only has to be started; the caller
        closes it.
        """
        comparison = case.checker or self.problem.checker
        assert isinstance(comparison, Comparison)
        with ExitStack() as stack:
            comparer = self._open_comparer(comparison, case)
            stack.callback(comparer.close)
            stdout, stderr = Head(comparer.feed), Tail()
            stdin: Path | bytes | SealedInput = self._input_of(case)
            if isinstance(stdin, Path):
                stdin = stack.enter_context(await SealedInput.load(stdin))
            run = await boxes.prepare_run(
                self._command(case), stdin=stdin, stdout=stdout, stderr=stderr
            )
            stack.callback(run.close)
            return PreparedCase(
                self, boxes, case, run, comparer, stdout, stderr, stack.pop_all()
            )

    async def _compare(self, boxes: Boxes, case: Case, comparison: Comparison) -> CaseOutcome:
        """Compares while the program writes, so that no output is kept."""
        with self._open_comparer(comparison, case) as comparer:
            result = await self._run(boxes, case, None, Head(comparer.feed))
            compared = await finish_comparison(comparer)
        if result.checked is None:
            result = RunResult(result.report, result.stderr, result.output, compared)
        return self.conclude(case, result)

    def _open_comparer(self, comparison: Comparison, case: Case) -> Comparer | ShortComparer:
        content = self.files.short(case.answer) if case.answer else b""
        if content is None:
            return open_comparer(comparison, answer_of(self.root, case))
        return open_short_comparer(comparison, lambda: answer_of(self.root, case), content)

    # ---- checkers and interactors ----

    async def _run_passes(self, boxes: Boxes, run: CheckerRun) -> CaseOutcome:
        passes = self.problem.limits.passes
        outcome = None
        for _ in range(passes):
            result = await self._run_pass(boxes, run)
            outcome = merge_passes(outcome, self.conclude(run.case, result))
            next_input = result.checked.next_input if result.checked and passes > 1 else None
            if next_input is None or outcome.verdict is not Verdict.ACCEPTED:
                return outcome
            feedback = result.checked.feedback if result.checked else None
            run = replace(run, pass_input=next_input, previous_feedback=feedback)
        assert outcome is not None
        return replace(
            outcome,
            verdict=Verdict.JUDGE_ERROR,
            message=JuryText(f"The validator asked for more than {passes} passes."),
        )

    async def _run_pass(self, boxes: Boxes, run: CheckerRun) -> RunResult:
        if self.problem.interactor is not None:
            result = await self._interact(boxes, run, self.problem.interactor)
            if self._shows_interaction(run.case, result):
                shown = await self._record_interaction(boxes, run, self.problem.interactor)
                result = replace(result, output=shown)
            return result
        with Spool(self.spool_dir) as spool:
            result = await self._run(boxes, run.case, run.pass_input, Head(spool))
            if result.checked is not None or not self._ended_in_time(run.case, result.report):
                return result
            return replace(result, checked=await self._check(boxes, run, spool))

    async def _check(self, boxes: Boxes, run: CheckerRun, output: Spool) -> CheckResult:
        check = run.case.checker or self.problem.checker
        assert isinstance(check, ProgramCheck)
        size = output.size_bytes
        async with output.as_input() as stdin:
            return await self.checker_budget.check(
                partial(check_output, boxes, check, self.programs, run, stdin),
                output_bytes=size,
                large=is_far_too_large(self.root, run.case, size),
            )

    async def _interact(self, boxes: Boxes, run: CheckerRun, check: ProgramCheck) -> RunResult:
        step = self.program.toolchain.language.run
        stderr = Tail()
        case = run.case
        interaction = await interact(
            boxes,
            self._command(case),
            self.programs[check.programs[0]],
            INTERACTORS[check.protocol],
            run,
            stage=self._staged_files(case),
            stderr=stderr,
        )
        report = detect_memory_limit(step, interaction.report, stderr.kept)
        if interaction.checked is None:
            return RunResult(report, stderr.text)
        if interaction.checked.jury_status in FLOODED and await self._floods(boxes, run, check):
            return RunResult(replace(report, status=RunStatus.OUTPUT_LIMIT), stderr.text)
        score = with_unit(interaction.checked.score, check.points_unit)
        checked = replace(interaction.checked, score=score)
        result = RunResult(report, stderr.text, checked=checked)
        output = interaction.output if checked.verdict is Verdict.ACCEPTED else None
        checker = case.checker or self.problem.checker
        if output is None or not isinstance(checker, ProgramCheck):
            return result
        if not self._ended_in_time(case, report):
            return result
        return replace(result, checked=await self._check_file(boxes, run, output))

    def _shows_interaction(self, case: Case, result: RunResult) -> bool:
        """Contestants see the interaction of a sample that failed."""
        verdict = self._verdict(case, result)
        is_visible = case.is_sample or case.full_feedback
        return is_visible and verdict not in UNSHOWN

    async def _record_interaction(
        self, boxes: Boxes, run: CheckerRun, check: ProgramCheck
    ) -> str:
        transcript = Transcript()
        await self._interact_again(boxes, run, check, transcript)
        return transcript.text

    async def _floods(self, boxes: Boxes, run: CheckerRun, check: ProgramCheck) -> bool:
        """Whether the program writes more to the interactor than it may write to stdout.

        Nobody counts what goes through the pipes, so the case is run again to find out why
        the interactor reached one of its own limits (X12).
        """
        written = WrittenBytes()
        await self._interact_again(boxes, run, check, written)
        return written.count > self._limits(run.case).output_bytes

    async def _interact_again(
        self, boxes: Boxes, run: CheckerRun, check: ProgramCheck, record: RecordSide
    ) -> None:
        """A recorder between the two would change what is judged, so it has its own run."""
        await interact(
            boxes,
            self._command(run.case),
            self.programs[check.programs[0]],
            INTERACTORS[check.protocol],
            run,
            stage=self._staged_files(run.case),
            stderr=ignore,
            record=record,
        )

    async def _check_file(self, boxes: Boxes, run: CheckerRun, output: Path) -> CheckResult:
        with Spool(self.spool_dir) as spool:
            await asyncio.to_thread(spool.add_file, output)
            return await self._check(boxes, run, spool)

    # ---- running the program ----

    async def _run(
        self, boxes: Boxes, case: Case, pass_input: Path | None, stdout: Head
    ) -> RunResult:
        stderr = Tail()
        stdin = pass_input or self._input_of(case)
        file_output = None
        if self.problem.output_file:
            max_bytes = self.problem.limits.output_bytes
            file_output = FileOutput(self.problem.output_file, stdout, max_bytes)
        run = partial(
            boxes.run,
            self._command(case),
            stdout=stdout if file_output is None else ignore,
            stderr=stderr,
            stage=self._staged_files(case, stdin),
            collect=file_output,
        )
        if self.problem.input_file:
            report = await run()
        elif isinstance(stdin, bytes):
            report = await run(stdin=stdin)
        else:
            with await SealedInput.load(stdin) as sealed:
                report = await run(stdin=sealed)
        report = detect_memory_limit(self.program.toolchain.language.run, report, stderr.kept)
        result = RunResult(report, stderr.text, stdout.text)
        if file_output and file_output.problem and report.status is RunStatus.OK:
            verdict = Verdict.OUTPUT_LIMIT if file_output.is_too_big else Verdict.WRONG_ANSWER
            checked = CheckResult(verdict, jury_message=file_output.problem)
            return replace(result, checked=checked)
        return result

    def _input_of(self, case: Case) -> Path | bytes:
        if not case.input:
            return b""
        content = self.files.short(case.input)
        return self.root / case.input if content is None else content

    def command_line(self) -> tuple[str, ...]:
        """The command that starts the program, without the arguments of a case (J6)."""
        return self._command(Case("", "", "")).argv

    def _command(self, case: Case) -> Command:
        key = (case.time_ms, case.memory_bytes, case.args)
        if key not in self.commands:
            self.commands[key] = command_for(self.program, self._limits(case), case.args)
        return self.commands[key]

    def _limits(self, case: Case) -> Limits:
        time_ms = self._time_ms(case)
        limits = self.problem.limits
        return Limits(
            cpu_ms=measured_cpu_ms(time_ms),
            wall_ms=wall_ms(time_ms),
            memory_bytes=max(MIN_MEMORY_BYTES, case.memory_bytes or limits.memory_bytes),
            output_bytes=limits.output_bytes,
            file_bytes=max(Limits().file_bytes, limits.output_bytes),
            scratch_bytes=max(Limits().scratch_bytes, 2 * limits.output_bytes),
        )

    def _staged_files(self, case: Case, stdin: Path | bytes = b"") -> StagedFiles | None:
        """The files that the program finds in its working directory."""
        if not (case.files or self.problem.input_file or self.data_files):
            return None
        given: dict[str, Path | bytes] = {
            name: self.root / path for name, path in case.files.items()
        }
        if self.problem.input_file:
            given[self.problem.input_file] = stdin
        files = given | files_beside(self.data_files, given)
        return StagedFiles(files) if files else None

    def _limit_ms(self, case: Case) -> int:
        allowance = self.program.toolchain.language.run.extra_cpu_ms
        return self._time_ms(case) + allowance

    def _time_ms(self, case: Case) -> int:
        return max(1, round((case.time_ms or self.time_ms) * self.time_factor))

    def _ended_in_time(self, case: Case, report: Report) -> bool:
        slow = is_too_slow(report.cpu_ns / 1e6, self._limit_ms(case))
        return report.status is RunStatus.OK and not slow

    # ---- the verdict ----

    def conclude(self, case: Case, result: RunResult) -> CaseOutcome:
        verdict = self._verdict(case, result)
        checked = result.checked or CheckResult(verdict)
        from_check = verdict is checked.verdict
        wrong = verdict is Verdict.WRONG_ANSWER
        return CaseOutcome(
            case=case,
            verdict=verdict,
            report=result.report,
            limit_ms=self._limit_ms(case),
            score=checked.score if from_check else NOT_GIVEN,
            message=JuryText(checked.jury_message) if from_check else NO_TEXT,
            team_message=checked.team_message if from_check else "",
            jury_status=checked.jury_status if from_check else None,
            output=JuryText(result.output),
            expected=JuryText(head_of_file(self.root / case.answer))
            if wrong and case.answer
            else NO_TEXT,
            stderr=JuryText(result.stderr),
            cpu_ms=result.report.cpu_ns / 1e6,
            wall_ms=result.report.wall_ns / 1e6,
            memory_bytes=result.report.memory_bytes,
        )

    def _verdict(self, case: Case, result: RunResult) -> Verdict:
        """A failure of the program takes precedence over the check of its output."""
        report = result.report
        slow = is_too_slow(report.cpu_ns / 1e6, self._limit_ms(case))
        if slow and report.status in ENDED_BY_ITSELF:
            return Verdict.TIME_LIMIT
        interacted = self.problem.interactor is not None and result.checked is not None
        if interacted or report.status is RunStatus.OK:
            return result.checked.verdict if result.checked else Verdict.JUDGE_ERROR
        return VERDICT_OF_STATUS[report.status]


@dataclass(frozen=True, slots=True)
class PreparedCase:
    judge: CaseJudge
    boxes: Boxes
    case: Case
    run: PreparedRun
    comparer: Comparer | ShortComparer
    stdout: Head
    stderr: Tail
    closing: ExitStack

    def close(self) -> None:
        """Ends the run, and frees its box."""
        self.closing.close()

    async def outcome(self) -> CaseOutcome:
        """Waits until the program has ended, after its run was started."""
        report = await self.run.report()
        step = self.judge.program.toolchain.language.run
        report = detect_memory_limit(step, report, self.stderr.kept)
        compared = await finish_comparison(self.comparer)
        result = RunResult(report, self.stderr.text, self.stdout.text, compared)
        return self.judge.conclude(self.case, result)


async def finish_comparison(comparer: Comparer | ShortComparer) -> CheckResult:
    if comparer.unread_bytes > LONG_READ_BYTES:
        difference = await asyncio.to_thread(comparer.finish)
    else:
        difference = comparer.finish()
    if difference is None:
        return CheckResult(Verdict.ACCEPTED)
    return CheckResult(Verdict.WRONG_ANSWER, jury_message=str(difference))


def answer_of(root: Path, case: Case) -> Path:
    return root / case.answer if case.answer else EMPTY_FILE


def merge_passes(earlier: CaseOutcome | None, later: CaseOutcome) -> CaseOutcome:
    """The last pass decides the verdict; limits apply to each pass, so the maximum counts."""
    if earlier is None:
        return later
    return replace(
        later,
        cpu_ms=max(earlier.cpu_ms, later.cpu_ms),
        wall_ms=max(earlier.wall_ms, later.wall_ms),
        memory_bytes=max(earlier.memory_bytes, later.memory_bytes),
    )


def ignore(_: bytes) -> None:
    pass


@asynccontextmanager
async def opened_input(source: Path | bytes) -> AsyncIterator[bytes | SealedInput]:
    """Stdin for a sandbox; a file is copied so that the program can't change it."""
    if isinstance(source, bytes):
        yield source
    else:
        with await SealedInput.load(source) as sealed:
            yield sealed
