"""Compiles a submission with the compile executable of its language."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deemster.domain.run_status import RunStatus
from deemster.judgehost.domjudge.executables import RUN, SCRIPT_PROFILE, in_directory
from deemster.judgehost.domjudge.internal_error import Disabled, InternalError
from deemster.judgehost.domjudge.limits import script_limits
from deemster.judgehost.domjudge.result import metadata_text
from deemster.judgehost.domjudge.tasks import JudgingTask
from deemster.programs.scratch import OutputCollector, StagedFiles
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import CODE_DIR, ENVIRONMENT, Command
from deemster.sandbox.wire import Report

PROGRAM: Final = "program"
"""The executable file that the compile script must create."""
COMPILE_DIR: Final = "compile"
"""The directory of the scratch in which the compile script runs."""
ENTRY_POINT: Final = re.compile(rb"[Dd]etected entry_point: (.*)")
MARK: Final = b"internal-error:"
"""Compilers quote lines of the source: a line of the contestant must not disable a language."""
SCRIPT_ERROR: Final = re.compile(rb"^internal-error: (.*)$", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CompileResult:
    is_success: bool
    output: bytes
    metadata: str = ""
    entry_point: str | None = None


def sources_to_compile(task: JudgingTask, names: Sequence[str]) -> list[str]:
    """The files that are passed to the compiler; the others only lie beside them."""
    config = task.compile_config
    if not config.filter_compiler_files:
        return list(names)
    return [name for name in names if name.endswith(config.language_extensions)]


def no_sources(task: JudgingTask) -> CompileResult:
    extensions = ", ".join(task.compile_config.language_extensions)
    message = (
        "No files with allowed extensions found to pass to compiler. "
        f"Allowed extensions: {extensions}"
    )
    return CompileResult(False, message.encode())


async def compile_submission(
    boxes: Boxes,
    task: JudgingTask,
    executable: Path,
    sources: Mapping[str, bytes],
    target: Path,
) -> CompileResult:
    """Copies everything that the compile script leaves to `target`.

    Raises InternalError if the script reports an error of its own.
    """
    names = sources_to_compile(task, list(sources))
    if not names:
        return no_sources(task)
    entry_point = task.run_config.entry_point
    limits = script_limits(task.compile_config)
    argv = (f"{CODE_DIR}/{RUN}", PROGRAM, str(task.run_config.memory_limit), *names)
    command = Command(
        argv=in_directory(COMPILE_DIR, argv),
        limits=limits,
        profile=SCRIPT_PROFILE,
        environment={**ENVIRONMENT, **({"ENTRY_POINT": entry_point} if entry_point else {})},
        code=executable,
    )
    collector = OutputCollector(COMPILE_DIR, target, max_bytes=limits.scratch_bytes)
    staged = StagedFiles({f"{COMPILE_DIR}/{name}": text for name, text in sources.items()})
    report = await boxes.run(command, stage=staged, collect=collector)
    output = report.stdout + report.stderr
    found = SCRIPT_ERROR.search(output)
    if found and not any(MARK in source.lower() for source in sources.values()):
        raise InternalError(
            f"The compile script returned an error: {found[1].decode(errors='replace')}",
            Disabled.script("compile", task.compile_script),
            output.decode(errors="replace"),
        )
    return compile_result(report, output, collector.problem, target)


def compile_result(
    report: Report, output: bytes, problem: str | None, target: Path
) -> CompileResult:
    program = target / PROGRAM
    if report.status is not RunStatus.OK:
        reason = failure_reason(report)
    elif problem:
        reason = f"Compiling failed: {problem}"
    elif not program.is_file() or not program.stat().st_mode & 0o100:
        reason = "Compiling failed: no executable was created"
    else:
        reason = ""
    detected = ENTRY_POINT.search(output)
    entry_point = detected[1].decode(errors="replace").strip() if detected else None
    facts: dict[str, object] = {
        "exitcode": report.exit_code if report.exit_code is not None else -1,
        "wall-time": f"{report.wall_ns / 1e9:.3f}",
        "cpu-time": f"{report.cpu_ns / 1e9:.3f}",
        "time-used": "wall-time",
        "time-result": "hard-timelimit" if is_timeout(report) else "",
        "memory-bytes": report.memory_bytes,
    }
    if entry_point:
        facts["entry_point"] = entry_point
    text = f"{reason}; compiler output:\n".encode() + output if reason else output
    return CompileResult(not reason, text, metadata_text(facts), entry_point)


def failure_reason(report: Report) -> str:
    if is_timeout(report):
        return f"Compiling aborted after {report.wall_ns / 1e9:.1f} seconds"
    if report.status is RunStatus.NONZERO_EXIT:
        return f"Compiling failed with exitcode {report.exit_code}"
    return f"Compiling failed: the compiler ended with {report.status}"


def is_timeout(report: Report) -> bool:
    return report.status in {RunStatus.TIME_LIMIT, RunStatus.WALL_LIMIT}
