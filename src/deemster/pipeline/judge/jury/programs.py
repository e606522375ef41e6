"""Makes jury programs ready: compiled like others, or by a `build` script of their own."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.domain.limits import MIB, Limits
from deemster.domain.problem import Problem, ProblemLimits, Program
from deemster.domain.run_status import RunStatus
from deemster.pipeline.judge.build.compile import Artifact
from deemster.pipeline.judge.build.compiler import BuildTools
from deemster.pipeline.judge.collect import OutputCollector
from deemster.pipeline.judge.execute import command_for
from deemster.pipeline.judge.jury.files import StagedFiles, link_missing
from deemster.pipeline.judge.sources import jury_source, read_program
from deemster.pipeline.judge.workspace import workspace
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import CODE_DIR, WORK_DIR, Command
from deemster.sandbox.staging import Stage

BUILD, RUN = "build", "run"
SHELL = "/bin/sh"
MESSAGE_BYTES = 4_000
SCRATCH_BYTES = 512 * MIB
"""Bounded by the memory limit too, which files in the scratch count for."""


class JuryFault(Refused):
    """A program of the jury can't be made ready; the message says why."""

    code = "jury_fault"


@dataclass(frozen=True, slots=True)
class JuryProgram:
    """Something of the jury's that can be run."""

    name: str
    args: tuple[str, ...]
    artifact: Artifact | None
    """None: a script, in `directory`."""
    directory: Path
    beside: Mapping[str, str] = field(default_factory=dict)
    """Links in its working directory to files of its own, which programs open by name."""

    def command(self, args: tuple[str, ...], limits: Limits, data: Path | None) -> Command:
        """`data` is what it sees at /data."""
        if self.artifact is not None:
            return replace(command_for(self.artifact, limits, self.args + args), data=data)
        return Command(
            argv=(f"{CODE_DIR}/{RUN}", *self.args, *args),
            limits=limits,
            profile="compiler",
            code=self.directory,
            data=data,
        )

    def staged(self, stage: Stage | None = None) -> Stage | None:
        """What lies in its working directory: that, and what is beside it."""
        if not self.beside:
            return stage

        def lay_out(scratch_fd: int) -> None:
            if stage is not None:
                stage(scratch_fd)
            link_missing(scratch_fd, self.beside)

        return lay_out


def links_to(directory: Path) -> dict[str, str]:
    """To all that a directory holds, as a program finds it in its box."""
    return {path.name: f"{CODE_DIR}/{path.name}" for path in directory.iterdir()}


def jury_limits(limits: ProblemLimits) -> Limits:
    return Limits(
        cpu_ms=limits.validation_ms,
        wall_ms=2 * limits.validation_ms,
        memory_bytes=limits.validation_memory_bytes,
        output_bytes=limits.validation_output_bytes,
        file_bytes=SCRATCH_BYTES,
        scratch_bytes=SCRATCH_BYTES,
    )


@asynccontextmanager
async def prepare_program(
    boxes: Boxes, build_tools: BuildTools, root: Path, problem: Problem, program: Program
) -> AsyncIterator[JuryProgram]:
    if program.scripted:
        async with workspace(build_tools.work_dir) as directory:
            yield await build_scripted(boxes, root, problem, program, directory)
        return
    language, source = await asyncio.to_thread(
        jury_source, root, problem, program, build_tools.catalogue
    )
    toolchain = await build_tools.toolchains.require(language)
    async with build_tools.compiler.built(boxes, toolchain, source) as build:
        if build.artifact is None:
            output = build.compilation.output if build.compilation else ""
            raise JuryFault(f"{program.path} doesn't compile: {output[:MESSAGE_BYTES]}")
        directory = build.artifact.directory
        data = {name.split("/")[0] for name in source.files if not language.is_source(name)}
        links = {name: to for name, to in links_to(directory).items() if name in data}
        yield JuryProgram(program.name, program.args, build.artifact, directory, links)


async def build_scripted(
    boxes: Boxes, root: Path, problem: Problem, program: Program, place: Path
) -> JuryProgram:
    """Runs its `build` in a copy of its directory, all of which the program then has."""
    files = await asyncio.to_thread(read_program, root, program.path, problem.constants)
    target = place / "program"
    target.mkdir()
    target.chmod(0o755)
    harvest = OutputCollector(".", target)
    argv = (SHELL, f"{WORK_DIR}/{BUILD}") if BUILD in files else ("/bin/true",)
    limits = Limits(
        cpu_ms=problem.limits.compile_ms,
        wall_ms=2 * problem.limits.compile_ms,
        memory_bytes=problem.limits.compile_memory_bytes,
        output_bytes=MIB,
        file_bytes=SCRATCH_BYTES,
        scratch_bytes=SCRATCH_BYTES,
    )
    command = Command(argv=argv, limits=limits, profile="compiler")
    report = await boxes.run(command, stage=StagedFiles(files), collect=harvest)
    said = (report.stdout + report.stderr).decode(errors="replace")[:MESSAGE_BYTES]
    if report.status is not RunStatus.OK:
        raise JuryFault(f"{program.path}/{BUILD} ended with {report.status}: {said}")
    if harvest.problem:
        raise JuryFault(f"{program.path}/{BUILD} left something odd: {harvest.problem}")
    started = target / RUN
    if not started.is_file():
        raise JuryFault(f"{program.path}/{BUILD} left no `{RUN}`: {said}")
    started.chmod(0o755)
    return JuryProgram(program.name, program.args, None, target, links_to(target))
