"""Verdicts on submissions and cases (A3), and the verdict for each way a run can end."""

from collections.abc import Iterable
from enum import StrEnum

from deemster.domain.run_status import RunStatus


class Verdict(StrEnum):
    ACCEPTED = "Accepted"
    PARTIAL = "Partial"
    WRONG_ANSWER = "Wrong Answer"
    TIME_LIMIT = "Time Limit Exceeded"
    MEMORY_LIMIT = "Memory Limit Exceeded"
    OUTPUT_LIMIT = "Output Limit Exceeded"
    RUNTIME_ERROR = "Runtime Error"
    COMPILE_ERROR = "Compile Error"
    JUDGE_ERROR = "Judge Error"


VERDICT_OF_STATUS: dict[RunStatus, Verdict] = {
    RunStatus.TIME_LIMIT: Verdict.TIME_LIMIT,
    RunStatus.WALL_LIMIT: Verdict.TIME_LIMIT,
    RunStatus.MEMORY_LIMIT: Verdict.MEMORY_LIMIT,
    RunStatus.OUTPUT_LIMIT: Verdict.OUTPUT_LIMIT,
    RunStatus.PROCESS_LIMIT: Verdict.RUNTIME_ERROR,
    RunStatus.SIGNALLED: Verdict.RUNTIME_ERROR,
    RunStatus.NONZERO_EXIT: Verdict.RUNTIME_ERROR,
    RunStatus.FORBIDDEN_SYSCALL: Verdict.RUNTIME_ERROR,
    RunStatus.COMPILE_ERROR: Verdict.COMPILE_ERROR,
    RunStatus.CANCELLED: Verdict.JUDGE_ERROR,
    RunStatus.INTERNAL_ERROR: Verdict.JUDGE_ERROR,
}
"""Verdict for a run of the contestant's program (J7); after `ok` the checker decides."""

WORST_FIRST: tuple[Verdict, ...] = (
    Verdict.JUDGE_ERROR,
    Verdict.COMPILE_ERROR,
    Verdict.RUNTIME_ERROR,
    Verdict.MEMORY_LIMIT,
    Verdict.TIME_LIMIT,
    Verdict.OUTPUT_LIMIT,
    Verdict.WRONG_ANSWER,
    Verdict.PARTIAL,
    Verdict.ACCEPTED,
)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Accepted if `verdicts` is empty."""
    return min(verdicts, key=WORST_FIRST.index, default=Verdict.ACCEPTED)
