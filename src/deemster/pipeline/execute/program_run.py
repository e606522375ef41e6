"""Compiles and runs the program of one execution, and returns its result."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from deemster.domain.execution import (
    SOURCE_BYTES,
    CompileResult,
    ExecutionDetails,
    ExecutionOptions,
    ExecutionResult,
    ProgramIo,
    Stream,
)
from deemster.domain.language import Language
from deemster.domain.limits import MIB, Limits
from deemster.domain.run_status import RunStatus
from deemster.domain.source import Source, main_file, unpack_files
from deemster.pipeline.execute.live_io import InputSource, LiveProgram
from deemster.pipeline.execute.output_log import OutputLog
from deemster.programs.build.cached_compiler import BuildTools
from deemster.programs.build.compile import Build, CompiledProgram, retry_if_starved
from deemster.programs.execute import command_for, detect_memory_limit
from deemster.programs.output import Tail
from deemster.programs.scratch import StagedFiles, list_scratch, read_scratch_file
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import Command
from deemster.sandbox.wire import Report

RETURNED_BYTES: Final = 4 * MIB
"""The most of all files that a program returns."""
RETURNED_FILES: Final = 250


@dataclass(frozen=True, slots=True)
class ProgramRun:
    build_tools: BuildTools
    boxes: Boxes
    details: ExecutionDetails
    output: OutputLog
    inputs: InputSource
    idle_s: float
    on_compiled: Callable[[CompileResult], Awaitable[None]]
    """Called before a program is run whose input is typed."""

    async def run(self) -> ExecutionResult:
        language = self.build_tools.catalogue.named(self.details.language)
        toolchain = await self.build_tools.toolchains.require(language)
        source = Source(
            unpack_files(self.details.files), main=self.details.main, max_bytes=SOURCE_BYTES
        )
        built = self.build_tools.compiler.built(
            self.boxes,
            toolchain,
            source,
            limits=self._compile_limits(language),
            args=tuple(self.details.options.compile_args),
        )
        async with built as build:
            compiled = compile_result(build)
            if build.compilation is not None and self.details.options.compile_wall_ms is None:
                retry_if_starved(build.compilation.starved, self.details.tries)
            if build.program is None:
                return ExecutionResult(RunStatus.COMPILE_ERROR, compile=compiled)
            if compiled is not None and self.details.io is not ProgramIo.BATCH:
                await self.on_compiled(compiled)
            result = await self._run_program(build.program, source)
            return replace(result, compile=compiled)

    def _compile_limits(self, language: Language) -> Limits | None:
        options, step = self.details.options, language.compile
        if step is None or (
            options.compile_wall_ms is None and options.compile_memory_bytes is None
        ):
            return None
        wall_ms = min(options.compile_wall_ms or step.limits.wall_ms, step.limits.wall_ms)
        return replace(
            step.limits,
            wall_ms=wall_ms,
            cpu_ms=min(step.limits.cpu_ms, wall_ms),
            memory_bytes=min(
                options.compile_memory_bytes or step.limits.memory_bytes,
                step.limits.memory_bytes,
            ),
        )

    async def _run_program(self, program: CompiledProgram, source: Source) -> ExecutionResult:
        details, options = self.details, self.details.options
        command = command_for(
            program,
            details.limits.of_run(),
            tuple(details.args),
            interpreter_args=tuple(options.interpreter_args),
        )
        if options.all_tools:
            command = replace(command, view=None)
        main = main_file(program.toolchain.language, source)
        extra = {name: each for name, each in source.files.items() if name != main}
        reports = []
        returned: Mapping[str, bytes] = {}
        for _ in range(max(options.runs, 1)):
            self.output.clear()
            self.output.restart_clock()
            report, returned = await self._run_once(program, command, extra)
            reports.append(report)
            if report.status is not RunStatus.OK:
                break
        return summarise(reports, returned)

    async def _run_once(
        self, program: CompiledProgram, command: Command, extra: Mapping[str, bytes]
    ) -> tuple[Report, Mapping[str, bytes]]:
        options = self.details.options
        returned: dict[str, bytes] = {}
        stage = StagedFiles(extra) if extra else None
        collector = None
        if options.return_files or options.return_changed_files:
            collector = partial(collect, options, extra, returned)
        step = program.toolchain.language.run
        if self.details.io is not ProgramIo.BATCH:
            live = LiveProgram(self.details, self.inputs, self.output, self.idle_s)
            report = await live.run(self.boxes, command, stage, collector)
            tail_of = self.output.end_of_stderr()
            return detect_memory_limit(step, report, tail_of), returned
        stdout = self.output.sink(Stream.STDOUT)
        is_one = options.stderr_to_stdout
        tail = Tail(stdout if is_one else self.output.sink(Stream.STDERR))
        report = await self.boxes.run(
            command,
            stdin=self.details.stdin,
            stdout=tail if is_one else stdout,
            stderr=tail,
            stage=stage,
            collect=collector,
        )
        return detect_memory_limit(step, report, tail.kept), returned


def compile_result(build: Build) -> CompileResult | None:
    found = build.compilation
    return CompileResult(found.status, found.output, found.ms) if found else None


def summarise(reports: list[Report], returned: Mapping[str, bytes]) -> ExecutionResult:
    """Averages of all runs, and the rest of the last."""
    last, count = reports[-1], len(reports)
    return ExecutionResult(
        status=last.status,
        exit_code=last.exit_code,
        signal=last.signal,
        cpu_ms=sum(each.cpu_ns for each in reports) / count / 1e6,
        wall_ms=sum(each.wall_ns for each in reports) / count / 1e6,
        memory_kb=sum(each.memory_bytes for each in reports) // count // 1024,
        stdout_truncated=last.stdout_truncated,
        stderr_truncated=last.stderr_truncated,
        returned_files=returned,
    )


def collect(
    options: ExecutionOptions,
    staged: Mapping[str, bytes],
    returned: dict[str, bytes],
    scratch: int,
) -> None:
    """A file that is missing, or too large, is missing in the result."""
    left = RETURNED_BYTES
    for name in options.return_files:
        content = read_scratch_file(scratch, name, left)
        if content is not None:
            returned[name] = content
            left -= len(content)
    if not options.return_changed_files:
        return
    for name in list_scratch(scratch):
        before = staged.get(name, b"")
        content = read_scratch_file(scratch, name, max(left, len(before)))
        if content is None or name in returned or len(content) > left:
            continue
        if name not in staged or content != before:
            returned[name] = content
            left -= len(content)
            if len(returned) >= RETURNED_FILES:
                return
