"""Checks a package: inputs are valid, answers are accepted, validators reject bad data."""

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
from deemster.domain.run_status import RunStatus
from deemster.domain.source import Source
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.case_judge import opened_input
from deemster.pipeline.judge.jury.checker import CheckResult
from deemster.pipeline.judge.jury.programs import (
    PreparedJuryProgram,
    jury_limits,
    prepare_program,
)
from deemster.pipeline.judge.jury.protocols import VALID_EXIT
from deemster.pipeline.judge.prepared_problem import PreparedProblem
from deemster.pipeline.judge.verify.progress import Progress
from deemster.programs.scratch import StagedFiles
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.wire import Report

LONG_LIMIT_MS = 60_000
OUT_OF_TIME = frozenset({RunStatus.TIME_LIMIT, RunStatus.WALL_LIMIT})
MAX_SHOWN = 5
"""The most findings of one kind: a wrong validator rejects every input."""
MESSAGE_BYTES = 500

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PackageFinding:
    severity: Literal["error", "warning"]
    text: str
    stops_judging: bool = False
    """The output validator does not end, so that no submission can be judged."""

    @property
    def is_error(self) -> bool:
        return self.severity == "error"


def warn(text: str) -> PackageFinding:
    return PackageFinding("warning", text)


async def check_package(
    prepared: PreparedProblem, jobs: int, progress: Progress
) -> list[PackageFinding]:
    findings = check_definition(prepared.problem)
    async with AsyncExitStack() as stack:
        data = DataCheck(prepared, jobs, progress)
        for validator in prepared.problem.input_validators:
            try:
                await data.prepare(stack, validator)
            except Refused as fault:
                findings.append(PackageFinding("error", str(fault)))
        findings += await data.findings()
    return findings


def check_definition(problem: Problem) -> list[PackageFinding]:
    """The findings that need no program to run."""
    found = []
    if not any(True for _ in problem.tests.cases()):
        found.append(PackageFinding("error", "There is no test case: add some to the package."))
    if not problem.submissions:
        found.append(PackageFinding("error", "There is no submission to judge: add some."))
    elif not any(Verdict.ACCEPTED in each.expectation.verdicts for each in problem.submissions):
        found.append(warn("No submission is expected to be accepted."))
    if not problem.statements and not any("statement" in text for text in problem.warnings):
        found.append(warn("There is no statement."))
    if (problem.limits.time_ms or 0) > LONG_LIMIT_MS:
        found.append(warn(f"The time limit is over {LONG_LIMIT_MS // 1000} s."))
    return found


class DataCheck:
    """Runs the package's validators on its own data."""

    def __init__(self, prepared: PreparedProblem, jobs: int, progress: Progress) -> None:
        self._prepared = prepared
        self._jobs = jobs
        self._progress = progress
        self._validators: list[tuple[InputValidator, PreparedJuryProgram]] = []
        self._endless: set[str] = set()
        """Names of input validators that did not end in time; they are not run again."""
        self._is_output_endless = False

    async def prepare(self, stack: AsyncExitStack, validator: InputValidator) -> None:
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

    async def findings(self) -> list[PackageFinding]:
        problem = self._prepared.problem
        cases = list(problem.tests.cases())
        found = []
        if self._validators:
            found += await self._check_each(cases, self._check_input, "inputs")
        found += await self._check_each(
            problem.validator_tests, self._check_validator_test, "validator tests"
        )
        if has_plain_outputs(problem):
            answered = [case for case in cases if case.answer]
            found += await self._check_each(answered, self._check_answer, "answers")
        return found

    async def _check_each(
        self,
        items: Sequence[T],
        check: Callable[[Boxes, T], Awaitable[PackageFinding | None]],
        kind: str,
    ) -> list[PackageFinding]:
        """Checks all items, `jobs` at once."""
        if not items:
            return []
        name = f"{self._prepared.problem.slug}: {kind}"
        limit = asyncio.Semaphore(self._jobs)
        with self._progress.step(name, len(items)) as advance:

            async def check_one(item: T) -> PackageFinding | None:
                async with limit, self._prepared.lanes.acquire() as boxes:
                    found = await check(boxes, item)
                advance()
                return found

            try:
                async with asyncio.TaskGroup() as group:
                    tasks = [group.create_task(check_one(item)) for item in items]
            except BaseExceptionGroup as faults:
                raise faults.exceptions[0] from None
        found = [finding for task in tasks if (finding := task.result()) is not None]
        if len(found) > MAX_SHOWN:
            more = len(found) - MAX_SHOWN
            found[MAX_SHOWN:] = [
                PackageFinding(found[0].severity, f"And {more} more of these.")
            ]
        return found

    async def _check_input(self, boxes: Boxes, case: Case) -> PackageFinding | None:
        reason = await self._validate_input(boxes, case)
        return PackageFinding("error", f"{case.name}: {reason}") if reason else None

    async def _validate_input(self, boxes: Boxes, case: Case) -> str:
        """Why the first validator that does so rejects the input; empty if none does."""
        root, limits = self._prepared.root, jury_limits(self._prepared.problem.limits)
        files = {name: root / path for name, path in case.files.items()}
        for validator, program in self._validators:
            name = validator.program.name
            if name in self._endless:
                continue
            args = case.input_validator_args.of(name)
            command = program.command(args, limits, None)
            async with opened_input(root / case.input if case.input else b"") as stdin:
                stage = program.staged(StagedFiles(files) if files else None)
                report = await boxes.run(command, stdin=stdin, stage=stage)
            if report.status in OUT_OF_TIME:
                self._endless.add(name)
                return f"{rejection(name, report)}; it is not run on other inputs."
            if report.exit_code != VALID_EXIT[validator.protocol]:
                return rejection(name, report)
        return ""

    async def _check_validator_test(
        self, boxes: Boxes, test: ValidatorTest
    ) -> PackageFinding | None:
        if test.kind == "invalid_input":
            if not self._validators or await self._validate_input(boxes, test.case):
                return None
            return PackageFinding("error", f"{test.name} should be rejected, but is accepted.")
        found = await self._check_output(boxes, test.case, test.output)
        if isinstance(found, PackageFinding) or found is None:
            return found
        checked = found.verdict
        if test.kind == "valid_output" and checked is not Verdict.ACCEPTED:
            return PackageFinding("error", f"{test.name} should be accepted, but is {checked}.")
        if test.kind == "invalid_output" and checked is not Verdict.WRONG_ANSWER:
            return PackageFinding("error", f"{test.name} should be rejected, but is {checked}.")
        return None

    async def _check_answer(self, boxes: Boxes, case: Case) -> PackageFinding | None:
        checked = await self._check_output(boxes, case, case.answer)
        if isinstance(checked, PackageFinding) or checked is None:
            return checked
        said = with_message(checked.jury_message)
        if checked.verdict is Verdict.JUDGE_ERROR:
            return PackageFinding(
                "error", f"The validator fails on {case.answer} as an output{said}"
            )
        if checked.verdict is Verdict.WRONG_ANSWER:
            return warn(f"The validator rejects {case.answer} as an output{said}")
        return None

    async def _check_output(
        self, boxes: Boxes, case: Case, output: str
    ) -> CheckResult | PackageFinding | None:
        """None: the validator did not end for another output, and is not run again."""
        if self._is_output_endless:
            return None
        judge = self._prepared.answer_judge(Source({}))
        checked = await judge.check(boxes, case, self._prepared.root / output)
        if checked.jury_status not in OUT_OF_TIME:
            return checked
        self._is_output_endless = True
        text = f"The validator does not end with {output} as an output"
        return PackageFinding(
            "error", f"{text}: nothing else was checked or judged.", stops_judging=True
        )


def has_plain_outputs(problem: Problem) -> bool:
    """Whether the answer files are valid outputs that a validator of the package checks."""
    checker = problem.checker
    plain = problem.interactor is None and problem.limits.passes == 1
    return plain and isinstance(checker, ProgramCheck) and checker.protocol is ProtocolName.ICPC


def with_message(message: str) -> str:
    """The end of a sentence, with the first part of a validator's message."""
    said = message.strip()[:MESSAGE_BYTES]
    return f": {said}" if said else "."


def rejection(name: str, report: Report) -> str:
    message = (report.stderr or report.stdout)[:MESSAGE_BYTES].decode(errors="replace").strip()
    ending = f"exit code {report.exit_code}"
    if report.status not in {RunStatus.OK, RunStatus.NONZERO_EXIT}:
        ending = str(report.status).replace("_", " ")
    return f"{name}: {ending}{f', {message}' if message else ''}"
