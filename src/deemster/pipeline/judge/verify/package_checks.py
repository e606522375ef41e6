"""Looks a package over: valid inputs, answers that pass, validators that see what is wrong."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Literal, TypeVar

from deemster.domain.errors import Refused
from deemster.domain.problem import (
    Case,
    InputValidator,
    Problem,
    ProgramCheck,
    ProtocolName,
    ValidatorTest,
)
from deemster.domain.source import Source
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.jury.programs import JuryProgram, prepare_program
from deemster.pipeline.judge.jury.validators import try_input
from deemster.pipeline.judge.prepared_problem import PreparedProblem
from deemster.pipeline.judge.verify.progress import Progress
from deemster.sandbox.boxes import Boxes

LONG_LIMIT_MS = 60_000
MOST_SHOWN = 5
"""Of one kind of finding: a wrong validator has something against every input."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Finding:
    severity: Literal["error", "warning"]
    text: str

    @property
    def is_error(self) -> bool:
        return self.severity == "error"


def warn(text: str) -> Finding:
    return Finding("warning", text)


async def examine(prepared: PreparedProblem, jobs: int, progress: Progress) -> list[Finding]:
    findings = look_over(prepared.problem)
    async with AsyncExitStack() as stack:
        inspection = Inspection(prepared, jobs, progress)
        for validator in prepared.problem.input_validators:
            try:
                await inspection.make_ready(stack, validator)
            except Refused as fault:
                findings.append(Finding("error", str(fault)))
        findings += await inspection.findings()
    return findings


def look_over(problem: Problem) -> list[Finding]:
    """What can be seen without running anything."""
    found = []
    if not any(True for _ in problem.tests.cases()):
        found.append(Finding("error", "There is no test case: put some into the package."))
    if not problem.submissions:
        found.append(warn("There is no submission to judge."))
    elif not any(Verdict.ACCEPTED in each.expectation.verdicts for each in problem.submissions):
        found.append(warn("No submission is expected to be accepted."))
    if not problem.statements and not any("statement" in text for text in problem.warnings):
        found.append(warn("There is no statement."))
    if (problem.limits.time_ms or 0) > LONG_LIMIT_MS:
        found.append(warn(f"The time limit is over {LONG_LIMIT_MS // 1000} s."))
    return found


class Inspection:
    """Runs the jury's validators over the jury's data."""

    def __init__(self, prepared: PreparedProblem, jobs: int, progress: Progress) -> None:
        self._prepared = prepared
        self._jobs = jobs
        self._progress = progress
        self._validators: list[tuple[InputValidator, JuryProgram]] = []

    async def make_ready(self, stack: AsyncExitStack, validator: InputValidator) -> None:
        prepared = self._prepared
        async with prepared.lanes.acquire() as boxes:
            program = prepare_program(
                boxes,
                prepared.build_tools,
                prepared.root,
                prepared.problem,
                validator.program,
            )
            self._validators.append((validator, await stack.enter_async_context(program)))

    async def findings(self) -> list[Finding]:
        problem = self._prepared.problem
        cases = list(problem.tests.cases())
        found = []
        if self._validators:
            found += await self._each(cases, self._input_fault, "inputs")
        found += await self._each(problem.validator_tests, self._test_fault, "trials")
        if has_plain_outputs(problem):
            found += await self._each(cases, self._answer_fault, "answers")
        return found

    async def _each(
        self,
        items: Sequence[T],
        look: Callable[[Boxes, T], Awaitable[Finding | None]],
        what: str,
    ) -> list[Finding]:
        """Looks at all of them, `jobs` at once."""
        if not items:
            return []
        name = f"{self._prepared.problem.slug}: {what}"
        turns = asyncio.Semaphore(self._jobs)
        with self._progress.step(name, len(items)) as advance:

            async def look_at(item: T) -> Finding | None:
                async with turns, self._prepared.lanes.acquire() as boxes:
                    found = await look(boxes, item)
                advance()
                return found

            try:
                async with asyncio.TaskGroup() as group:
                    tasks = [group.create_task(look_at(item)) for item in items]
            except BaseExceptionGroup as faults:
                raise faults.exceptions[0] from None
        found = [finding for task in tasks if (finding := task.result()) is not None]
        if len(found) > MOST_SHOWN:
            more = len(found) - MOST_SHOWN
            found[MOST_SHOWN:] = [Finding(found[0].severity, f"And {more} more of these.")]
        return found

    async def _input_fault(self, boxes: Boxes, case: Case) -> Finding | None:
        complaint = await self._complaint(boxes, case)
        return Finding("error", f"{case.name}: {complaint}") if complaint else None

    async def _complaint(self, boxes: Boxes, case: Case) -> str:
        """Of the first validator that has one."""
        prepared = self._prepared
        for validator, program in self._validators:
            complaint = await try_input(
                boxes, prepared.root, prepared.problem, validator, program, case
            )
            if complaint:
                return complaint
        return ""

    async def _test_fault(self, boxes: Boxes, test: ValidatorTest) -> Finding | None:
        if test.kind == "invalid_input":
            accepted = self._validators and not await self._complaint(boxes, test.case)
            return Finding("error", f"{test.name} is taken for valid.") if accepted else None
        checked = await self._check(boxes, test.case, test.output)
        if test.kind == "valid_output" and checked is not Verdict.ACCEPTED:
            return Finding("error", f"{test.name} is {checked}, and is meant to pass.")
        if test.kind == "invalid_output" and checked is not Verdict.WRONG_ANSWER:
            return Finding("error", f"{test.name} is {checked}, and is meant to be rejected.")
        return None

    async def _answer_fault(self, boxes: Boxes, case: Case) -> Finding | None:
        verdict = await self._check(boxes, case, case.answer)
        if verdict is Verdict.JUDGE_ERROR:
            return Finding("error", f"The validator fails over {case.answer} as an output.")
        if verdict is Verdict.WRONG_ANSWER:
            return warn(f"The validator rejects {case.answer} as an output.")
        return None

    async def _check(self, boxes: Boxes, case: Case, output: str) -> Verdict:
        judge = self._prepared.answer_judge(Source({}))
        checked = await judge.check(boxes, case, self._prepared.root / output)
        return checked.verdict


def has_plain_outputs(problem: Problem) -> bool:
    """An answer file is also an output of the problem, and programs of the jury check it."""
    checker = problem.checker
    plain = problem.interactor is None and problem.limits.passes == 1
    return plain and isinstance(checker, ProgramCheck) and checker.protocol is ProtocolName.ICPC
