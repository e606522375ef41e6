"""Decides what follows when a checker reaches its own limits on a program's output."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from deemster.domain.limits import MIB
from deemster.domain.problem import Case
from deemster.domain.run_status import RunStatus
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.jury.checker import CheckResult, judge_error

MAX_EXCESSES: Final = 2
"""How often checkers of one submission may reach their limits; `CHECKERS_S` in domain/limits.py
has the time for it."""
LARGE_BYTES: Final = MIB
LARGE_FACTOR: Final = 16
"""Outputs that are larger than LARGE_BYTES, and by this factor larger than the input and the
answer of the case, are at fault if the checker can't read them within its limits."""
EXCESSES: Final = frozenset(
    {
        RunStatus.TIME_LIMIT,
        RunStatus.WALL_LIMIT,
        RunStatus.MEMORY_LIMIT,
        RunStatus.OUTPUT_LIMIT,
    }
)


@dataclass(slots=True)
class CheckerBudget:
    """Counts how often the checkers of one submission have reached their limits (X12)."""

    excesses: int = 0

    async def check(
        self, check: Callable[[], Awaitable[CheckResult]], *, output_bytes: int, large: bool
    ) -> CheckResult:
        """Runs a check; once more if it reaches the limits on an output that is not large."""
        checked = None
        while self.excesses < MAX_EXCESSES:
            checked = await check()
            if (
                checked.verdict is not Verdict.JUDGE_ERROR
                or checked.jury_status not in EXCESSES
            ):
                return checked
            self.excesses += 1
            if large:
                break
        if checked is None:
            checked = judge_error("The checker was not run: it had reached its limits twice.")
        return blame_output(checked, output_bytes) if large else checked


def blame_output(checked: CheckResult, output_bytes: int) -> CheckResult:
    return replace(
        checked,
        verdict=Verdict.OUTPUT_LIMIT,
        team_message=f"The program wrote {output_bytes:,} bytes, far more than expected. The "
        "checker could not read them within its limits.",
    )


def is_far_too_large(root: Path, case: Case, output_bytes: int) -> bool:
    """Whether an output is far larger than what a right program would write."""
    if output_bytes <= LARGE_BYTES:
        return False
    given = [(root / path).stat().st_size for path in (case.input, case.answer) if path]
    return output_bytes > LARGE_FACTOR * max(given, default=0)
