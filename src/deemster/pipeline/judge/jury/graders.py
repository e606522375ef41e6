"""Runs the jury programs that look at no output: legacy graders and static validators."""

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path

from deemster.domain.problem import CustomGrader, ProblemLimits, ProtocolName, StaticCheck
from deemster.domain.run_status import RunStatus
from deemster.domain.scoring import Result
from deemster.domain.source import Source
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.jury.checker import CheckResult, read_answer
from deemster.pipeline.judge.jury.files import CheckerFiles, StagedFiles
from deemster.pipeline.judge.jury.programs import JuryProgram, jury_limits
from deemster.pipeline.judge.jury.protocols import CHECKERS, FEEDBACK_DIR, NUMBER
from deemster.sandbox.boxes import Boxes

CODES = {
    Verdict.ACCEPTED: "AC",
    Verdict.WRONG_ANSWER: "WA",
    Verdict.TIME_LIMIT: "TLE",
    Verdict.RUNTIME_ERROR: "RTE",
    Verdict.MEMORY_LIMIT: "RTE",
    Verdict.OUTPUT_LIMIT: "RTE",
}
"""The words of the legacy format: it has no others."""
VERDICTS = {
    "AC": Verdict.ACCEPTED,
    "WA": Verdict.WRONG_ANSWER,
    "TLE": Verdict.TIME_LIMIT,
    "RTE": Verdict.RUNTIME_ERROR,
}
ANSWER = re.compile(rf"\s*(AC|WA|TLE|RTE)\s+({NUMBER})\s*")


async def ask_grader(
    boxes: Boxes,
    program: JuryProgram,
    limits: ProblemLimits,
    grading: CustomGrader,
    results: Sequence[Result],
) -> Result:
    lines = [f"{CODES[each.verdict]} {each.score or 0:.10g}\n" for each in results]
    command = program.command(grading.flags, jury_limits(limits), None)
    given = "".join(lines).encode()
    report = await boxes.run(command, stdin=given, stage=program.staged())
    found = ANSWER.fullmatch(report.stdout.decode(errors="replace"))
    if report.status is not RunStatus.OK or found is None:
        return Result(Verdict.JUDGE_ERROR)
    return Result(VERDICTS[found[1]], float(found[2]))


async def ask_static(
    boxes: Boxes,
    program: JuryProgram,
    limits: ProblemLimits,
    static: StaticCheck,
    source: Source,
    language: str,
    target: Path,
) -> CheckResult:
    """It finds the submission's files in its working directory."""
    tray = CheckerFiles(target)
    placed = StagedFiles(source.files)

    def stage(scratch_fd: int) -> None:
        tray.stage(scratch_fd)
        placed(scratch_fd)

    args = (language, source.main or "", FEEDBACK_DIR, *static.args)
    command = program.command(args, jury_limits(limits), None)
    report = await boxes.run(command, stage=program.staged(stage), collect=tray.collect)
    manner = CHECKERS[ProtocolName.ICPC]
    return await asyncio.to_thread(read_answer, program.name, manner, report, tray)
