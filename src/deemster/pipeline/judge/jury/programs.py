"""Prepares jury programs: compiles them, or runs the `build` script that they bring."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.domain.limits import MIB, Limits
from deemster.domain.problem import JuryProgram, Problem, ProblemLimits
from deemster.domain.run_status import RunStatus
from deemster.pipeline.judge.python2 import NEEDS_PYTHON2, looks_like_python2
from deemster.pipeline.judge.sources import jury_source, read_program
from deemster.programs.build.cached_compiler import BuildTools
from deemster.programs.build.compile import CompiledProgram
from deemster.programs.execute import command_for
from deemster.programs.scratch import OutputCollector, StagedFiles, link_missing
from deemster.programs.workspace import workspace
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import CODE_DIR, WORK_DIR, Command
from deemster.sandbox.staging import Scratch, Stage

BUILD, RUN = "build", "run"
SHELL = "/bin/sh"
MESSAGE_BYTES = 4_000
SCRATCH_BYTES = 512 * MIB
"""Files in the scratch directory also count towards the memory limit."""


class JuryFault(Refused):
    """A jury program can't be built; the message says why."""

    code = "jury_fault"


@dataclass(frozen=True, slots=True)
class PreparedJuryProgram:
    name: str
    args: tuple[str, ...]
    compiled: CompiledProgram | None
    """None for a script, which `directory` contains."""
    directory: Path
    links: Mapping[str, str] = field(default_factory=dict)
    """Symbolic links in the working directory to the program's own data files."""

    def command(self, args: tuple[str, ...], limits: Limits, data: Path | None) -> Command:
        """`data` is mounted at /data."""
        if self.compiled is not None:
            return replace(command_for(self.compiled, limits, self.args + args), data=data)
        return Command(
            argv=(f"{CODE_DIR}/{RUN}", *self.args, *args),
            limits=limits,
            profile="compiler",
            code=self.directory,
            data=data,
        )

    def staged(self, stage: Stage | None = None) -> Stage | None:
        """Adds the program's links to its working directory after `stage` has run."""
        if not self.links:
            return stage

        def stage_with_links(scratch: Scratch) -> None:
            if stage is not None:
                stage(scratch)
            link_missing(scratch, self.links)

        return stage_with_links


def links_to(directory: Path) -> dict[str, str]:
    """Links to every entry of the directory, which is mounted at CODE_DIR."""
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
    boxes: Boxes, build_tools: BuildTools, root: Path, problem: Problem, program: JuryProgram
) -> AsyncIterator[PreparedJuryProgram]:
    if program.scripted:
        async with workspace(build_tools.work_dir) as directory:
            yield await build_scripted(boxes, root, problem, program, directory)
        return
    try:
        language, source = await asyncio.to_thread(
            jury_source, root, problem, program, build_tools.catalogue
        )
        toolchain = await build_tools.toolchains.require(language)
    except Refused as refusal:
        raise JuryFault(f"{program.path} can't be run. {refusal}") from refusal
    async with build_tools.compiler.built(boxes, toolchain, source) as build:
        if build.program is None and looks_like_python2(source.files):
            raise JuryFault(f"{program.path} {NEEDS_PYTHON2}")
        if build.program is None:
            output = build.compilation.output if build.compilation else ""
            raise JuryFault(f"{program.path} doesn't compile:\n{output[:MESSAGE_BYTES]}")
        directory = build.program.directory
        data = {name.split("/")[0] for name in source.files if not language.is_source(name)}
        links = {name: to for name, to in links_to(directory).items() if name in data}
        yield PreparedJuryProgram(program.name, program.args, build.program, directory, links)


async def build_scripted(
    boxes: Boxes, root: Path, problem: Problem, program: JuryProgram, directory: Path
) -> PreparedJuryProgram:
    """Runs `build` in a copy of the program's directory and keeps the whole result."""
    files = await asyncio.to_thread(read_program, root, program.path, problem.constants)
    target = directory / "program"
    target.mkdir()
    target.chmod(0o755)
    collector = OutputCollector(".", target)
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
    report = await boxes.run(command, stage=StagedFiles(files), collect=collector)
    output = (report.stdout + report.stderr).decode(errors="replace")[:MESSAGE_BYTES]
    if report.status is not RunStatus.OK:
        raise JuryFault(f"{program.path}/{BUILD} ended with {report.status}: {output}")
    if collector.problem:
        raise JuryFault(
            f"{program.path}/{BUILD} left files that can't be used: {collector.problem}"
        )
    script = target / RUN
    if not script.is_file():
        raise JuryFault(f"{program.path}/{BUILD} left no `{RUN}`: {output}")
    script.chmod(0o755)
    return PreparedJuryProgram(program.name, program.args, None, target, links_to(target))
