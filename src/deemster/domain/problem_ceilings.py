"""The operator's ceilings for problems (X5): imports are refused above, runs are clamped."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from deemster.domain.limits import MIB
from deemster.domain.problem import Case, Group, Problem, ProblemLimits

DEFAULTS = ProblemLimits()


@dataclass(frozen=True, slots=True)
class ProblemCeilings:
    time_ms: int = 60_000
    memory_bytes: int = 4096 * MIB
    output_bytes: int = 256 * MIB
    cases: int = 5_000
    passes: int = 100

    def violations(self, problem: Problem, time_ms: int) -> Iterator[str]:
        """Sentences that each name a limit above its ceiling, and the setting."""
        limits, cases = problem.limits, list(problem.tests.cases())
        if not problem.submit_answer:
            slowest = max([time_ms, *(case.time_ms or 0 for case in cases)])
            if slowest > self.time_ms:
                yield too_much("time limit", slowest / 1000, self.time_ms / 1000, "s", "time_s")
        largest = max([limits.memory_bytes, *(case.memory_bytes or 0 for case in cases)])
        if largest > self.memory_bytes:
            yield too_much(
                "memory limit", largest / MIB, self.memory_bytes / MIB, "MB", "memory_mb"
            )
        if limits.output_bytes > self.output_bytes:
            asked = limits.output_bytes / MIB
            yield too_much("output limit", asked, self.output_bytes / MIB, "MB", "output_mb")
        if len(cases) > self.cases:
            yield too_much("number of test cases", len(cases), self.cases, "cases", "cases")
        if limits.passes > self.passes:
            yield too_much("number of passes", limits.passes, self.passes, "passes", "passes")
        for name, most in self._jury_ceilings().items():
            if getattr(limits, name) > most:
                yield f"The limit {name} of the jury's programs is above {most:,}."

    def clamped(self, problem: Problem) -> Problem:
        """The problem with no limit above a ceiling, whatever its package says."""
        limits = problem.limits
        jury = {
            name: min(getattr(limits, name), most)
            for name, most in self._jury_ceilings().items()
        }
        time_ms = None if limits.time_ms is None else min(limits.time_ms, self.time_ms)
        lower = replace(
            limits,
            time_ms=time_ms,
            memory_bytes=min(limits.memory_bytes, self.memory_bytes),
            output_bytes=min(limits.output_bytes, self.output_bytes),
            passes=min(limits.passes, self.passes),
            **jury,
        )
        return replace(problem, limits=lower, tests=self._clamped_group(problem.tests))

    def _jury_ceilings(self) -> dict[str, int]:
        """Of compilers and the jury's programs: the default, or a ceiling that is higher."""
        return {
            "compile_ms": max(self.time_ms, DEFAULTS.compile_ms),
            "compile_memory_bytes": max(self.memory_bytes, DEFAULTS.compile_memory_bytes),
            "validation_ms": max(self.time_ms, DEFAULTS.validation_ms),
            "validation_memory_bytes": max(self.memory_bytes, DEFAULTS.validation_memory_bytes),
            "validation_output_bytes": max(self.output_bytes, DEFAULTS.validation_output_bytes),
        }

    def _clamped_group(self, group: Group) -> Group:
        items = tuple(
            self._clamped_group(item) if isinstance(item, Group) else self._clamped_case(item)
            for item in group.items
        )
        return replace(group, items=items)

    def _clamped_case(self, case: Case) -> Case:
        if case.time_ms is None and case.memory_bytes is None:
            return case
        return replace(
            case,
            time_ms=case.time_ms and min(case.time_ms, self.time_ms),
            memory_bytes=case.memory_bytes and min(case.memory_bytes, self.memory_bytes),
        )


def too_much(what: str, asked: float, most: float, unit: str, setting: str) -> str:
    return (
        f"The {what} of the package is {asked:,g} {unit}, but at most {most:,g} {unit} are "
        f"allowed here: lower it, or ask the operator to raise the setting problem_{setting}."
    )
