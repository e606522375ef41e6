"""Collects the details of failures in a judgement: messages of compiler, program and jury."""

from collections.abc import Iterator
from dataclasses import dataclass

from deemster.domain.judgement import JuryCase, JuryJudgement, failure_reason, is_failure
from deemster.domain.verdict import Verdict


@dataclass(frozen=True, slots=True)
class FailedCase:
    name: str
    verdict: Verdict
    reason: str
    """The signal, exit code or forbidden system call of a Runtime Error."""
    message: str
    """The validator's message, or the first difference."""
    stderr: str
    """The beginning of what the program wrote to stderr."""


@dataclass(frozen=True, slots=True)
class FailureDetails:
    compiler_output: str = ""
    failed_cases: tuple[FailedCase, ...] = ()

    def texts(self) -> Iterator[tuple[str, str]]:
        """A title and a text for everything that explains the first failure."""
        if self.compiler_output:
            yield "compiler", self.compiler_output
        for case in self.failed_cases[:1]:
            yield f"{case.name}, {case.verdict}", case.reason
            yield f"{case.name}, message", case.message
            yield f"{case.name}, stderr", case.stderr


def failure_details(judgement: JuryJudgement) -> FailureDetails:
    compiled = judgement.compiled
    return FailureDetails(
        compiled.output.strip() if compiled else "",
        tuple(failed_case(case) for case in judgement.cases if is_failure(case.verdict)),
    )


def failed_case(case: JuryCase) -> FailedCase:
    assert case.verdict is not None
    return FailedCase(
        case.name,
        case.verdict,
        failure_reason(case),
        case.message.reveal().strip(),
        case.stderr.reveal().strip(),
    )
