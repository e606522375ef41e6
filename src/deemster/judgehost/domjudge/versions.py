"""Tells the server the exact versions of a language's compiler and runner on this host."""

from typing import Final

from deemster.domain.run_status import RunStatus
from deemster.judgehost.domjudge.executables import SCRIPT_PROFILE
from deemster.judgehost.domjudge.limits import script_limits
from deemster.judgehost.domjudge.server import DomServer
from deemster.judgehost.domjudge.tasks import JudgingTask
from deemster.programs.scratch import write_all
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import WORK_DIR, Command
from deemster.sandbox.lanes import Lanes
from deemster.sandbox.staging import Scratch

SCRIPT: Final = "version_check"


async def report_versions(
    server: DomServer, lanes: Lanes, host: str, task: JudgingTask
) -> None:
    """Runs the server's commands for the task's language, and sends what they print."""
    asked = await server.version_commands(task.id)
    commands = {
        "compiler": asked.compiler_version_command,
        "runner": asked.runner_version_command,
    }
    if not any(commands.values()):
        return
    async with lanes.acquire() as boxes:
        versions = {
            part: await version_of(boxes, part, script, task)
            for part, script in commands.items()
            if script
        }
    await server.check_versions(host, task.id, versions)


async def version_of(boxes: Boxes, part: str, script: str, task: JudgingTask) -> bytes:
    text = script.replace("\r\n", "\n")
    if not text.startswith("#!"):
        text = f"#!/bin/sh\n{text}"

    def stage(scratch: Scratch) -> None:
        with scratch.new_file(SCRIPT, 0o777) as descriptor:
            write_all(descriptor, text.encode())

    command = Command(
        (f"{WORK_DIR}/{SCRIPT}",),
        limits=script_limits(task.compile_config),
        profile=SCRIPT_PROFILE,
    )
    report = await boxes.run(command, stage=stage)
    output = (report.stdout + report.stderr).strip()
    if report.status is RunStatus.OK:
        return output
    code = report.exit_code if report.exit_code is not None else report.status
    return f"Getting {part} version failed with exit code {code}\n".encode() + output
