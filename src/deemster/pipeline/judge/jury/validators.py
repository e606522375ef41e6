"""Has an input looked at by the jury's validators."""

from pathlib import Path

from deemster.domain.problem import Case, InputValidator, Problem
from deemster.domain.run_status import RunStatus
from deemster.pipeline.judge.case_judge import opened_input
from deemster.pipeline.judge.jury.files import StagedFiles
from deemster.pipeline.judge.jury.programs import JuryProgram, jury_limits
from deemster.pipeline.judge.jury.protocols import VALID_EXIT
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.report import Report

SAID_BYTES = 500


async def try_input(
    boxes: Boxes,
    root: Path,
    problem: Problem,
    validator: InputValidator,
    program: JuryProgram,
    case: Case,
) -> str:
    """What the validator has against the input; empty when it is valid."""
    args = case.input_validator_args.of(validator.program.name)
    command = program.command(args, jury_limits(problem.limits), None)
    files = {name: root / path for name, path in case.files.items()}
    async with opened_input(root / case.input if case.input else b"") as given:
        stage = program.staged(StagedFiles(files) if files else None)
        report = await boxes.run(command, stdin=given, stage=stage)
    if report.exit_code == VALID_EXIT[validator.protocol]:
        return ""
    return complaint(validator.program.name, report)


def complaint(name: str, report: Report) -> str:
    said = (report.stderr or report.stdout)[:SAID_BYTES].decode(errors="replace").strip()
    how = f"exit code {report.exit_code}"
    if report.status not in {RunStatus.OK, RunStatus.NONZERO_EXIT}:
        how = str(report.status).replace("_", " ")
    return f"{name}: {how}{f', {said}' if said else ''}"
