"""Judges one case: runs the program on it, in all passes, and has the output checked."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from deemster.domain.judgement import NO_TEXT, JuryText, ProgramExit
from deemster.domain.limits import MIB, Limits
from deemster.domain.problem import Case, Comparison, Problem, Program, ProgramCheck
from deemster.domain.run_status import RunStatus
from deemster.domain.scoring import NOT_GIVEN, GivenScore
from deemster.domain.timing import is_too_slow, measured_cpu_ms, wall_ms
from deemster.domain.verdict import VERDICT_OF_STATUS, Verdict
from deemster.pipeline.judge.build.compile import Artifact
from deemster.pipeline.judge.compare import open_comparer
from deemster.pipeline.judge.excerpt import Head, head_of_file
from deemster.pipeline.judge.execute import Tail, command_for, settle_memory
from deemster.pipeline.judge.jury.checker import CheckerRun, CheckResult, check_output
from deemster.pipeline.judge.jury.files import StagedFiles
from deemster.pipeline.judge.jury.interactor import interact
from deemster.pipeline.judge.jury.programs import JuryProgram, jury_limits
from deemster.pipeline.judge.jury.protocols import INTERACTORS, with_unit
from deemster.pipeline.judge.spool import FileOutput, Spool
from deemster.pipeline.judge.workspace import workspace
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import Command
from deemster.sandbox.report import Report
from deemster.sandbox.streams import SealedInput

MUCH_BYTES = 4 << 20
"""So much of an answer takes longer to read than the event loop may be kept."""
NOTHING = Path("/dev/null")
ENDED_BY_ITSELF = frozenset({RunStatus.OK, RunStatus.NONZERO_EXIT, RunStatus.SIGNALLED})


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """Of one case, before it has a score."""

    case: Case
    verdict: Verdict
    report: Report
    limit_ms: int
    given: GivenScore = NOT_GIVEN
    message: JuryText = NO_TEXT
    team_message: str = ""
    output: JuryText = NO_TEXT
    expected: JuryText = NO_TEXT
    stderr: JuryText = NO_TEXT
    cpu_ms: float = 0
    wall_ms: float = 0
    memory_bytes: int = 0

    @property
    def is_near_limit(self) -> bool:
        """It came to its end, only a little too late (timing.py)."""
        by_itself = self.report.status in ENDED_BY_ITSELF
        return self.verdict is Verdict.TIME_LIMIT and by_itself

    @property
    def ending(self) -> ProgramExit:
        report = self.report
        return ProgramExit(report.status, report.exit_code, report.signal, report.syscall)


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of the program, and what the jury's side said of it, if it was asked."""

    report: Report
    stderr: str
    output: str = ""
    checked: CheckResult | None = None


@dataclass(frozen=True, slots=True)
class CaseJudge:
    """All that stays the same from case to case."""

    root: Path
    """The directory of the revision."""
    problem: Problem
    artifact: Artifact
    time_ms: int
    programs: Mapping[Program, JuryProgram]
    """The jury's, made ready."""
    work_dir: Path
    spool_dir: Path
    data_files: Mapping[str, bytes]
    """Files of the submission that the program finds in its working directory."""

    async def judge(self, boxes: Boxes, case: Case) -> CaseOutcome:
        checker = case.checker or self.problem.checker
        if self.problem.interactor is None and isinstance(checker, Comparison):
            return await self._compare(boxes, case, checker)
        async with workspace(self.work_dir) as place:
            sitting = CheckerRun(self.root, case, jury_limits(self.problem.limits), place)
            return await self._ask_jury(boxes, sitting)

    # ---- with a comparison ----

    async def _compare(self, boxes: Boxes, case: Case, comparison: Comparison) -> CaseOutcome:
        """Compares while the program writes: nothing of its output is kept."""
        with open_comparer(comparison, answer_of(self.root, case)) as comparer:
            ran = await self._run(boxes, case, None, Head(comparer.feed))
            if comparer.unread_bytes > MUCH_BYTES:
                difference = await asyncio.to_thread(comparer.finish)
            else:
                difference = comparer.finish()
        if ran.checked is None:
            ran = replace(ran, checked=CheckResult(Verdict.ACCEPTED))
            if difference is not None:
                checked = CheckResult(Verdict.WRONG_ANSWER, jury_message=str(difference))
                ran = replace(ran, checked=checked)
        return self._conclude(case, ran)

    # ---- with programs of the jury ----

    async def _ask_jury(self, boxes: Boxes, sitting: CheckerRun) -> CaseOutcome:
        passes = self.problem.limits.passes
        outcome = None
        for _ in range(passes):
            ran = await self._pass(boxes, sitting)
            outcome = joined(outcome, self._conclude(sitting.case, ran))
            following = ran.checked.next_input if ran.checked and passes > 1 else None
            if following is None or outcome.verdict is not Verdict.ACCEPTED:
                return outcome
            earlier = ran.checked.feedback if ran.checked else None
            sitting = replace(sitting, pass_input=following, earlier=earlier)
        assert outcome is not None
        return replace(
            outcome,
            verdict=Verdict.JUDGE_ERROR,
            message=JuryText(f"The validator asked for more than {passes} passes."),
        )

    async def _pass(self, boxes: Boxes, sitting: CheckerRun) -> Ran:
        if self.problem.interactor is not None:
            return await self._interact(boxes, sitting, self.problem.interactor)
        with Spool(self.spool_dir) as spool:
            ran = await self._run(boxes, sitting.case, sitting.pass_input, Head(spool))
            if ran.checked is not None or not self._may_be_right(sitting.case, ran.report):
                return ran
            return replace(ran, checked=await self._check(boxes, sitting, spool))

    async def _check(self, boxes: Boxes, sitting: CheckerRun, output: Spool) -> CheckResult:
        check = sitting.case.checker or self.problem.checker
        assert isinstance(check, ProgramCheck)
        async with output.as_input() as stdin:
            return await check_output(boxes, check, self.programs, sitting, stdin)

    async def _interact(self, boxes: Boxes, sitting: CheckerRun, check: ProgramCheck) -> Ran:
        step = self.artifact.toolchain.language.run
        head = Head()
        tail = Tail(head)
        case = sitting.case
        talk = await interact(
            boxes,
            self._command(case),
            self.programs[check.programs[0]],
            INTERACTORS[check.protocol],
            sitting,
            stage=self._placed(case),
            stderr=tail,
        )
        report = settle_memory(step, talk.report, tail.kept)
        if talk.checked is None:
            return Ran(report, head.text)
        said = replace(talk.checked, given=with_unit(talk.checked.given, check.points_unit))
        ran = Ran(report, head.text, checked=said)
        left = talk.output if said.verdict is Verdict.ACCEPTED else None
        checker = case.checker or self.problem.checker
        if left is None or not isinstance(checker, ProgramCheck):
            return ran
        if not self._may_be_right(case, report):
            return ran
        return replace(ran, checked=await self._check_left(boxes, sitting, left))

    async def _check_left(self, boxes: Boxes, sitting: CheckerRun, output: Path) -> CheckResult:
        """What a testlib interactor wrote goes to the checker."""
        with Spool(self.spool_dir) as spool:
            await asyncio.to_thread(spool.take_file, output)
            return await self._check(boxes, sitting, spool)

    # ---- the program itself ----

    async def _run(self, boxes: Boxes, case: Case, pass_input: Path | None, out: Head) -> Ran:
        step = self.artifact.toolchain.language.run
        head = Head()
        tail = Tail(head)
        path = pass_input or (self.root / case.input if case.input else b"")
        written = FileOutput(self.problem.output_file, out, self._limits(case).output_bytes)
        by_file = bool(self.problem.output_file)
        async with opened_input(path) as given:
            report = await boxes.run(
                self._command(case),
                stdin=b"" if self.problem.input_file else given,
                stdout=ignore if by_file else out,
                stderr=tail,
                stage=self._placed(case, path),
                collect=written if by_file else None,
            )
        report = settle_memory(step, report, tail.kept)
        ran = Ran(report, head.text, out.text)
        if by_file and written.problem and report.status is RunStatus.OK:
            verdict = Verdict.OUTPUT_LIMIT if written.is_too_big else Verdict.WRONG_ANSWER
            return replace(ran, checked=CheckResult(verdict, jury_message=written.problem))
        return ran

    def command_line(self) -> tuple[str, ...]:
        """By which the program is started, without arguments of a case (J6)."""
        return self._command(Case("", "", "")).argv

    def _command(self, case: Case) -> Command:
        return command_for(self.artifact, self._limits(case), case.args)

    def _limits(self, case: Case) -> Limits:
        time_ms = case.time_ms or self.time_ms
        most = self.problem.limits
        return Limits(
            cpu_ms=measured_cpu_ms(time_ms),
            wall_ms=wall_ms(time_ms),
            memory_bytes=max(MIB, case.memory_bytes or most.memory_bytes),  # less is no cage
            output_bytes=most.output_bytes,
            file_bytes=max(Limits().file_bytes, most.output_bytes),
            scratch_bytes=max(Limits().scratch_bytes, 2 * most.output_bytes),
        )

    def _placed(self, case: Case, given: Path | bytes = b"") -> StagedFiles | None:
        """What lies in the working directory before the program starts."""
        files: dict[str, Path | bytes] = dict(self.data_files)
        files |= {name: self.root / path for name, path in case.files.items()}
        if self.problem.input_file:
            files[self.problem.input_file] = given
        return StagedFiles(files) if files else None

    def _limit_ms(self, case: Case) -> int:
        allowance = self.artifact.toolchain.language.run.extra_cpu_ms
        return (case.time_ms or self.time_ms) + allowance

    def _may_be_right(self, case: Case, report: Report) -> bool:
        slow = is_too_slow(report.cpu_ns / 1e6, self._limit_ms(case))
        return report.status is RunStatus.OK and not slow

    # ---- the verdict ----

    def _conclude(self, case: Case, ran: Ran) -> CaseOutcome:
        verdict = self._verdict(case, ran)
        checked = ran.checked or CheckResult(verdict)
        heard = verdict is checked.verdict
        wrong = verdict is Verdict.WRONG_ANSWER
        return CaseOutcome(
            case=case,
            verdict=verdict,
            report=ran.report,
            limit_ms=self._limit_ms(case),
            given=checked.given if heard else NOT_GIVEN,
            message=JuryText(checked.jury_message) if heard else NO_TEXT,
            team_message=checked.team_message if heard else "",
            output=JuryText(ran.output),
            expected=JuryText(head_of_file(self.root / case.answer))
            if wrong and case.answer
            else NO_TEXT,
            stderr=JuryText(ran.stderr),
            cpu_ms=ran.report.cpu_ns / 1e6,
            wall_ms=ran.report.wall_ns / 1e6,
            memory_bytes=ran.report.memory_bytes,
        )

    def _verdict(self, case: Case, ran: Ran) -> Verdict:
        """The program's own failure goes before what was said of its output."""
        report = ran.report
        slow = is_too_slow(report.cpu_ns / 1e6, self._limit_ms(case))
        if slow and report.status in ENDED_BY_ITSELF:
            return Verdict.TIME_LIMIT
        talked = self.problem.interactor is not None and ran.checked is not None
        if talked or report.status is RunStatus.OK:
            return ran.checked.verdict if ran.checked else Verdict.JUDGE_ERROR
        return VERDICT_OF_STATUS[report.status]


def answer_of(root: Path, case: Case) -> Path:
    return root / case.answer if case.answer else NOTHING


def joined(earlier: CaseOutcome | None, later: CaseOutcome) -> CaseOutcome:
    """Of several passes the last says the verdict; each had its own limits."""
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
async def opened_input(given: Path | bytes) -> AsyncIterator[bytes | SealedInput]:
    """What a program reads: of a file, a copy that it can't change."""
    if isinstance(given, bytes):
        yield given
    else:
        with await SealedInput.load(given) as sealed:
            yield sealed
