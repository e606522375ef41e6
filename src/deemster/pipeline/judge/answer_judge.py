"""Judges outputs that are given: answers handed in, and the trials of the jury's checker."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from deemster.domain.judgement import NO_TEXT, JuryText
from deemster.domain.problem import Case, Comparison, Problem, Program
from deemster.domain.run_status import RunStatus
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.case_judge import CaseOutcome, answer_of, opened_input
from deemster.pipeline.judge.compare import open_comparer
from deemster.pipeline.judge.excerpt import Head, head_of_file
from deemster.pipeline.judge.jury.checker import CheckerRun, CheckResult, check_output
from deemster.pipeline.judge.jury.programs import JuryProgram, jury_limits
from deemster.pipeline.judge.workspace import workspace
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.report import Report

ENDINGS = (".out", ".ans", ".txt", "")
CHUNK_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class AnswerJudge:
    """Nothing is run but the checker."""

    root: Path
    problem: Problem
    programs: Mapping[Program, JuryProgram]
    work_dir: Path
    files: Mapping[str, bytes]
    """The submission, by relative path."""

    async def judge(self, boxes: Boxes, case: Case) -> CaseOutcome:
        output = find_answer(self.files, case.name)
        checked = CheckResult(
            Verdict.WRONG_ANSWER, jury_message=f"There is no answer for {case.name}."
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
            given=checked.given,
            message=JuryText(checked.jury_message),
            team_message=checked.team_message,
            output=JuryText(head.text),
            expected=JuryText(head_of_file(self.root / case.answer)) if wrong else NO_TEXT,
        )

    async def check(self, boxes: Boxes, case: Case, output: Path | bytes) -> CheckResult:
        checker = case.checker or self.problem.checker
        if isinstance(checker, Comparison):
            return self._compare(checker, case, output)
        async with workspace(self.work_dir) as place, opened_input(output) as given:
            sitting = CheckerRun(self.root, case, jury_limits(self.problem.limits), place)
            return await check_output(boxes, checker, self.programs, sitting, given)

    def _compare(self, comparison: Comparison, case: Case, output: Path | bytes) -> CheckResult:
        with open_comparer(comparison, answer_of(self.root, case)) as comparer:
            for chunk in chunks_of(output):
                comparer.feed(chunk)
            difference = comparer.finish()
        if difference is None:
            return CheckResult(Verdict.ACCEPTED)
        return CheckResult(Verdict.WRONG_ANSWER, jury_message=str(difference))


def chunks_of(output: Path | bytes) -> Iterator[bytes]:
    if isinstance(output, bytes):
        for at in range(0, len(output), CHUNK_BYTES):
            yield output[at : at + CHUNK_BYTES]
        return
    with output.open("rb") as opened:
        while chunk := opened.read(CHUNK_BYTES):
            yield chunk


def find_answer(files: Mapping[str, bytes], case_name: str) -> bytes | None:
    """By the case's whole name, else by its last parts, with any of the usual endings."""
    return next((files[name] for name in wanted_names(case_name) if name in files), None)


def wanted_names(case_name: str) -> Iterable[str]:
    parts = case_name.split("/")
    for start in range(len(parts)):
        stem = "/".join(parts[start:])
        yield from (f"{stem}{ending}" for ending in ENDINGS)
