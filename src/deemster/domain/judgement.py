"""The result of judging, in full for the jury and reduced for the contestant.

These are different types, and `JuryText` is no `str`, so that a leak is a type error (A11).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import final

from deemster.domain.run_status import RunStatus, signal_text
from deemster.domain.verdict import Verdict


@final
@dataclass(frozen=True, slots=True)
class JuryText:
    """A text that may contain hidden test data; only code for the jury calls `reveal`."""

    _text: str = ""

    def reveal(self) -> str:
        return self._text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __repr__(self) -> str:
        return f"JuryText({len(self._text)} characters)"

    __str__ = __repr__


NO_TEXT = JuryText()


class FaultCause(StrEnum):
    """What failed if the verdict is Judge Error, for logs and metrics: without test data."""

    BUILD = "jury_program_not_built"
    CHECKER = "checker_or_interactor_failed"
    STATIC_VALIDATOR = "static_validator_failed"
    GRADER = "grader_failed"
    SCORE = "score_not_allowed"
    NO_CASES = "no_test_cases"


@dataclass(frozen=True, slots=True)
class ProgramExit:
    """How the contestant's program ended in a case."""

    status: RunStatus
    exit_code: int | None = None
    signal: int | None = None
    syscall: str | None = None


@dataclass(frozen=True, slots=True)
class JuryCase:
    name: str
    number: int
    """From 1, in judging order."""
    verdict: Verdict | None
    """None: the case was not run, because it could not change the result."""
    is_sample: bool = False
    full_feedback: bool = False
    score: float | None = None
    cpu_ms: int = 0
    wall_ms: int = 0
    memory_kb: int = 0
    limit_ms: int = 0
    runs: int = 1
    """More than 1 if the first run was near the time limit."""
    program_exit: ProgramExit | None = None
    message: JuryText = NO_TEXT
    """The checker's judgemessage.txt, the first difference, or the checker's stderr."""
    team_message: str = ""
    """The checker's message to the contestant."""
    jury_status: RunStatus | None = None
    """How the checker or the interactor ended if that is the cause of a Judge Error."""
    output: JuryText = NO_TEXT
    """The first part of the program's output."""
    expected: JuryText = NO_TEXT
    stderr: JuryText = NO_TEXT


@dataclass(frozen=True, slots=True)
class GroupScore:
    name: str
    """Empty for the whole problem."""
    verdict: Verdict | None
    """None: the group was skipped, because its cases could not change the result."""
    score: float | None = None
    max_score: float | None = None


@dataclass(frozen=True, slots=True)
class CompileRecord:
    language: str
    version: str
    argv: tuple[str, ...] = ()
    run_argv: tuple[str, ...] = ()
    output: str = ""
    ms: int = 0
    cached: bool = False
    starved: bool = False
    """The compiler was ended by its wall-clock limit, and had used little CPU time."""
    status: RunStatus = RunStatus.OK
    """How the compiler ended."""


@dataclass(frozen=True, slots=True)
class JuryJudgement:
    verdict: Verdict
    cases: Sequence[JuryCase] = ()
    groups: Sequence[GroupScore] = ()
    score: float | None = None
    max_score: float | None = None
    compiled: CompileRecord | None = None
    fault: JuryText = NO_TEXT
    """Why the verdict is Judge Error, with what the jury's programs wrote."""
    cause: FaultCause | None = None
    time_factor: float = 1.0
    """Time limits were multiplied by it, because of the speed of the judge host."""

    @property
    def runtime_ms(self) -> int:
        """CPU time of the slowest case (A2)."""
        return max((case.cpu_ms for case in self.cases), default=0)

    @property
    def memory_kb(self) -> int:
        return max((case.memory_kb for case in self.cases), default=0)

    @property
    def failed_case(self) -> JuryCase | None:
        """The first case that was run and rejected."""
        return next((case for case in self.cases if is_failure(case.verdict)), None)


@dataclass(frozen=True, slots=True)
class CaseSoFar:
    """A case as the contestant sees it while others are still being judged (J10)."""

    number: int
    verdict: Verdict
    cpu_ms: int
    memory_kb: int


OnCase = Callable[[CaseSoFar], None]
"""Called for each case that counts, in the order of judging."""


@dataclass(frozen=True, slots=True)
class ContestantCase:
    number: int
    verdict: Verdict | None
    is_sample: bool
    cpu_ms: int
    memory_kb: int
    limit_ms: int = 0
    reason: str = ""
    """The signal, exit code or forbidden system call; or that a slow program was idle."""
    team_message: str = ""
    expected: str | None = None
    got: str | None = None
    stderr: str | None = None
    """Both outputs and `expected` are set only for samples and cases with full feedback."""


@dataclass(frozen=True, slots=True)
class ContestantJudgement:
    verdict: Verdict
    runtime_ms: int
    memory_kb: int
    passed_cases: int
    total_cases: int
    failed_case: ContestantCase | None = None
    cases: Sequence[ContestantCase] = ()
    groups: Sequence[GroupScore] = ()
    score: float | None = None
    max_score: float | None = None
    compiler_output: str | None = None
    """Set only for a compile error."""
    version: str = ""
    command: tuple[str, ...] = ()
    time_factor: float = 1.0


def is_failure(verdict: Verdict | None) -> bool:
    return verdict not in {None, Verdict.ACCEPTED, Verdict.PARTIAL}


def for_contestant(
    judgement: JuryJudgement, *, show_groups: bool = True
) -> ContestantJudgement:
    """The only function that turns jury data into contestant data."""
    failed = judgement.failed_case
    compiled = judgement.compiled
    failed_to_compile = judgement.verdict is Verdict.COMPILE_ERROR
    return ContestantJudgement(
        verdict=judgement.verdict,
        runtime_ms=judgement.runtime_ms,
        memory_kb=judgement.memory_kb,
        passed_cases=sum(case.verdict is Verdict.ACCEPTED for case in judgement.cases),
        total_cases=len(judgement.cases),
        failed_case=case_for_contestant(failed) if failed else None,
        cases=tuple(case_for_contestant(case) for case in judgement.cases),
        groups=named_groups(judgement.groups) if show_groups else (),
        score=judgement.score,
        max_score=judgement.max_score,
        compiler_output=compiled.output if compiled and failed_to_compile else None,
        version=compiled.version if compiled else "",
        command=compiled.argv or compiled.run_argv if compiled else (),
        time_factor=judgement.time_factor,
    )


def case_for_contestant(case: JuryCase) -> ContestantCase:
    may_see_data = case.is_sample or case.full_feedback
    failed = is_failure(case.verdict) and case.verdict is not Verdict.JUDGE_ERROR
    show_output = may_see_data and failed
    show_expected = may_see_data and case.verdict is Verdict.WRONG_ANSWER
    return ContestantCase(
        number=case.number,
        verdict=case.verdict,
        is_sample=case.is_sample,
        cpu_ms=case.cpu_ms,
        memory_kb=case.memory_kb,
        limit_ms=case.limit_ms if case.verdict is Verdict.TIME_LIMIT else 0,
        reason=failure_reason(case),
        team_message=case.team_message,
        expected=case.expected.reveal() if show_expected else None,
        got=case.output.reveal() if show_output else None,
        stderr=case.stderr.reveal() or None if show_output else None,
    )


def case_so_far(case: JuryCase, verdict: Verdict) -> CaseSoFar:
    return CaseSoFar(case.number, verdict, case.cpu_ms, case.memory_kb)


def named_groups(groups: Sequence[GroupScore]) -> tuple[GroupScore, ...]:
    """Without the group of the whole problem, whose result is that of the submission."""
    return tuple(group for group in groups if group.name)


def failure_reason(case: JuryCase) -> str:
    """Says how the program failed, in words that contain no test data."""
    if case.verdict is Verdict.TIME_LIMIT and case.cpu_ms < case.limit_ms:
        return (
            f"idle: the program used {case.cpu_ms / 1000:g} s of CPU time in "
            f"{case.wall_ms / 1000:g} s, so it slept or waited, perhaps for input"
        )
    if case.verdict is not Verdict.RUNTIME_ERROR or case.program_exit is None:
        return ""
    program_exit = case.program_exit
    if program_exit.syscall:
        return f"forbidden system call {program_exit.syscall}"
    if program_exit.signal:
        return signal_text(program_exit.signal)
    if program_exit.status is RunStatus.PROCESS_LIMIT:
        return "too many processes or threads"
    return f"exit code {program_exit.exit_code}"
