"""Judges outputs without running a program: submitted answers and the jury's own files."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from deemster.domain.judgement import NO_TEXT, JuryText
from deemster.domain.problem import Case, Comparison, JuryProgram, Problem
from deemster.domain.run_status import RunStatus
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.case_judge import CaseOutcome, answer_of, opened_input
from deemster.pipeline.judge.compare import open_comparer
from deemster.pipeline.judge.jury.checker import CheckerRun, CheckResult, check_output
from deemster.pipeline.judge.jury.checker_budget import CheckerBudget, is_far_too_large
from deemster.pipeline.judge.jury.programs import PreparedJuryProgram, jury_limits
from deemster.programs.output import Head, head_of_file
from deemster.programs.workspace import workspace
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.wire import Report

EXTENSIONS = (".out", ".ans", ".txt", "")
CHUNK_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class AnswerJudge:
    root: Path
    problem: Problem
    programs: Mapping[JuryProgram, PreparedJuryProgram]
    work_dir: Path
    files: Mapping[str, bytes]
    """The files of the submission by relative path."""
    checker_budget: CheckerBudget = field(default_factory=CheckerBudget)

    async def judge(self, boxes: Boxes, case: Case) -> CaseOutcome:
        output = find_answer(self.files, case.name)
        checked = CheckResult(
            Verdict.WRONG_ANSWER, jury_message=f"The submission has no answer for {case.name}."
        )
        if output is not None:
            checked = await self.check(boxes, case, output)
        wrong = checked.verdict is Verdict.WRONG_ANSWER and case.answer
        head = Head()
        head(output or b"")
        return CaseOutcome(
            case=case,
            verdict=checked.verdict,
            report=Report(RunStatus.OK),
            limit_ms=0,
            score=checked.score,
            message=JuryText(checked.jury_message),
            team_message=checked.team_message,
            output=JuryText(head.text),
            expected=JuryText(head_of_file(self.root / case.answer)) if wrong else NO_TEXT,
        )

    async def check(self, boxes: Boxes, case: Case, output: Path | bytes) -> CheckResult:
        checker = case.checker or self.problem.checker
        if isinstance(checker, Comparison):
            return self._compare(checker, case, output)
        async with workspace(self.work_dir) as directory, opened_input(output) as stdin:
            run = CheckerRun(self.root, case, jury_limits(self.problem.limits), directory)
            size = size_of(output)
            return await self.checker_budget.check(
                partial(check_output, boxes, checker, self.programs, run, stdin),
                output_bytes=size,
                large=is_far_too_large(self.root, case, size),
            )

    def _compare(self, comparison: Comparison, case: Case, output: Path | bytes) -> CheckResult:
        with open_comparer(comparison, answer_of(self.root, case)) as comparer:
            for chunk in read_chunks(output):
                comparer.feed(chunk)
            difference = comparer.finish()
        if difference is None:
            return CheckResult(Verdict.ACCEPTED)
        return CheckResult(Verdict.WRONG_ANSWER, jury_message=str(difference))


def size_of(output: Path | bytes) -> int:
    return len(output) if isinstance(output, bytes) else output.stat().st_size


def read_chunks(output: Path | bytes) -> Iterator[bytes]:
    if isinstance(output, bytes):
        for at in range(0, len(output), CHUNK_BYTES):
            yield output[at : at + CHUNK_BYTES]
        return
    with output.open("rb") as opened:
        while chunk := opened.read(CHUNK_BYTES):
            yield chunk


def find_answer(files: Mapping[str, bytes], case_name: str) -> bytes | None:
    """Looks for a file named like the case or like the last parts of the case's name."""
    return next((files[name] for name in possible_names(case_name) if name in files), None)


def possible_names(case_name: str) -> Iterable[str]:
    parts = case_name.split("/")
    for start in range(len(parts)):
        stem = "/".join(parts[start:])
        yield from (f"{stem}{extension}" for extension in EXTENSIONS)
