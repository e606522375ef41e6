"""Sends files of an earlier judging that the jury asks for."""

import asyncio
from pathlib import Path
from typing import Final

from deemster.domain.run_status import RunStatus
from deemster.judgehost.domjudge.executables import RUN, SCRIPT_PROFILE, ExecutableId
from deemster.judgehost.domjudge.internal_error import InternalError
from deemster.judgehost.domjudge.judging import HostParts
from deemster.judgehost.domjudge.kept_judgings import testcase_directory
from deemster.judgehost.domjudge.limits import script_limits
from deemster.judgehost.domjudge.server import encoded
from deemster.judgehost.domjudge.tasks import ServerConfig, Task
from deemster.programs.scratch import StagedFiles, read_scratch_file
from deemster.sandbox.command import CODE_DIR, DATA_DIR, WORK_DIR, Command

PACKAGE: Final = "debug-package"


async def debug_form(
    parts: HostParts, config: ServerConfig, task: Task, judging: Path
) -> dict[str, str] | None:
    """The form of the call `add-debug-info`; None: the files are no longer on this host."""
    if task.run_script is not None:
        if not await asyncio.to_thread(judging.is_dir):
            return None
        package = await pack(parts, config, task, task.run_script, judging)
        return {"full_debug": encoded(package)}
    output = last_output(testcase_directory(judging, task.testcase or ""))
    if output is None:
        return None
    return {"output_run": encoded(await asyncio.to_thread(output.read_bytes))}


def last_output(testcase: Path) -> Path | None:
    """The output of the last pass."""
    passes = sorted(testcase.glob("*/program.out"), key=lambda path: int(path.parent.name))
    return passes[-1] if passes else None


async def pack(
    parts: HostParts, config: ServerConfig, task: Task, script: str, judging: Path
) -> bytes:
    """Runs the server's debug script, which packs the directory that it gets."""
    digest = task.run_config.hash if task.run_config else None
    executable = ExecutableId("debug", script, digest)
    limits = script_limits(config)
    package: list[bytes | None] = []

    def collect(scratch_fd: int) -> None:
        package.append(read_scratch_file(scratch_fd, PACKAGE, limits.scratch_bytes))

    # Some scripts expect that their output file exists.
    stage = StagedFiles({PACKAGE: b""})

    async with parts.executables.opened(executable, config) as directory:
        command = Command(
            (f"{CODE_DIR}/{RUN}", DATA_DIR, f"{WORK_DIR}/{PACKAGE}"),
            limits=limits,
            profile=SCRIPT_PROFILE,
            code=directory,
            data=judging,
        )
        async with parts.lanes.acquire() as boxes:
            report = await boxes.run(command, stage=stage, collect=collect)
    if report.status is not RunStatus.OK or not package or package[0] is None:
        output = (report.stdout + report.stderr).decode(errors="replace")
        raise InternalError(
            f"Running the debug script {script} failed ({report.status}).",
            executable.disabled,
            output,
        )
    return package[0]
