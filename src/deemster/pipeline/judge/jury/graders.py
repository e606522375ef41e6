"""Runs jury programs that don't check an output: legacy graders and static validators."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from math import inf, isinf
from pathlib import Path

from deemster.domain.language import Language
from deemster.domain.problem import CustomGrader, ProblemLimits, ProtocolName, StaticCheck
from deemster.domain.run_status import RunStatus
from deemster.domain.scoring import ScoredVerdict
from deemster.domain.source import Source, files_beside, main_file
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.jury.checker import CheckerFiles, CheckResult, read_answer
from deemster.pipeline.judge.jury.programs import PreparedJuryProgram, jury_limits
from deemster.pipeline.judge.jury.protocols import CHECKERS, FEEDBACK, FEEDBACK_DIR, NUMBER
from deemster.programs.scratch import StagedFiles
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import CODE_DIR
from deemster.sandbox.staging import Scratch

CODES = {
    Verdict.ACCEPTED: "AC",
    Verdict.PARTIAL: "AC",
    Verdict.WRONG_ANSWER: "WA",
    Verdict.TIME_LIMIT: "TLE",
    Verdict.RUNTIME_ERROR: "RTE",
    Verdict.MEMORY_LIMIT: "RTE",
    Verdict.OUTPUT_LIMIT: "RTE",
}
"""The legacy format has only these four codes."""
VERDICTS = {
    "AC": Verdict.ACCEPTED,
    "WA": Verdict.WRONG_ANSWER,
    "TLE": Verdict.TIME_LIMIT,
    "RTE": Verdict.RUNTIME_ERROR,
}
ANSWER = re.compile(rf"\s*(AC|WA|TLE|RTE)\s+({NUMBER})\s*")


async def run_grader(
    boxes: Boxes,
    program: PreparedJuryProgram,
    limits: ProblemLimits,
    grading: CustomGrader,
    results: Sequence[ScoredVerdict],
) -> ScoredVerdict:
    lines = [f"{CODES[each.verdict]} {each.score or 0:.10g}\n" for each in results]
    command = program.command(grading.flags, jury_limits(limits), None)
    stdin = "".join(lines).encode()
    report = await boxes.run(command, stdin=stdin, stage=program.staged())
    found = ANSWER.fullmatch(report.stdout.decode(errors="replace"))
    score = float(found[2]) if found else inf
    if report.status is not RunStatus.OK or found is None or isinf(score):
        return ScoredVerdict(Verdict.JUDGE_ERROR)
    return ScoredVerdict(VERDICTS[found[1]], score)


async def run_static_validator(
    boxes: Boxes,
    program: PreparedJuryProgram,
    limits: ProblemLimits,
    static: StaticCheck,
    source: Source,
    language: Language,
    target: Path,
) -> CheckResult:
    """The validator finds the submission's files in its working directory.

    Files that would be in its feedback, or in the place of its own files, are left out.
    """
    files = CheckerFiles(target)
    submission = StagedFiles(files_beside(source.files, {FEEDBACK, *program.links}))

    def stage(scratch: Scratch) -> None:
        files.stage(scratch)
        submission(scratch)

    args = (language.id, main_file(language, source) or "", FEEDBACK_DIR, *static.args)
    command = program.command(args, jury_limits(limits), None)
    # Interpreters read files of the home directory when they start: those must be the jury's.
    command = replace(command, environment={**command.environment, "HOME": CODE_DIR})
    report = await boxes.run(command, stage=program.staged(stage), collect=files.collect)
    protocol = CHECKERS[ProtocolName.ICPC]
    return await asyncio.to_thread(read_answer, program.name, protocol, report, files)
