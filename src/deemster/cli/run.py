"""`deemster run`: runs one program in the sandbox, without a server."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
import uvloop

from deemster.cli.exit_codes import ExitCode
from deemster.cli.options import AsJson, Language
from deemster.cli.output import print_error, print_json
from deemster.cli.run_output import OutputStream, as_object, explain
from deemster.cli.source_file import read_source
from deemster.domain import language as domain
from deemster.domain.errors import Refused, Unavailable
from deemster.domain.limits import MIB, Limits
from deemster.domain.run_status import RunStatus
from deemster.domain.source import Source, single_file
from deemster.programs.build.compile import Compilation
from deemster.programs.build.languages import load_catalogue
from deemster.programs.build.toolchain import Toolchain, Toolchains
from deemster.programs.execute import execute
from deemster.sandbox.wire import Report
from deemster.settings import load_settings
from deemster.wiring.judging import open_boxes, open_compiler, version_box
from deemster.wiring.privileges import without_service

TERMINAL_WALL_S = 3600.0


@dataclass(frozen=True, slots=True)
class Program:
    source: Source
    toolchain: Toolchain
    limits: Limits
    stdin: int | bytes


def run(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Source file of the program.")],
    language: Language = None,
    stdin: Annotated[
        Path | None,
        typer.Option(
            metavar="F",
            help="File that the program reads, instead of this command's standard input.",
        ),
    ] = None,
    time: Annotated[
        float,
        typer.Option(metavar="S", help="CPU time limit, in seconds.", min=0.001, max=3600),
    ] = 10.0,
    wall: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            help="Wall-clock limit, in seconds. By default twice the CPU time limit and at "
            "least 10 s more than it, or an hour if the input comes from a terminal.",
            min=0.001,
            max=86400,
            show_default=False,
        ),
    ] = None,
    memory: Annotated[
        int, typer.Option(metavar="MB", help="Memory limit, in MB.", min=1, max=1 << 20)
    ] = 256,
    as_json: AsJson = False,
) -> None:
    """Run one program in the sandbox.

    The exit code is 0 if the program ended with exit code 0, 1 if it failed or reached a limit,
    and 2 if Deemster could not run it. For example:

        echo 1 2 | deemster run sum.py
        deemster run sum.cpp --stdin input.txt --time 2 --memory 64
    """
    with open_stdin(stdin) as given:
        limits = Limits(
            cpu_ms=round(time * 1000),
            wall_ms=round((wall or default_wall_s(time, given)) * 1000),
            memory_bytes=memory * MIB,
        )
        raise typer.Exit(uvloop.run(run_file(file, language, given, limits, as_json)))


def default_wall_s(time_s: float, stdin: int | bytes) -> float:
    is_terminal = isinstance(stdin, int) and os.isatty(stdin)
    return TERMINAL_WALL_S if is_terminal else max(2 * time_s, time_s + 10)


async def run_file(
    file: Path, language_name: str | None, stdin: int | bytes, limits: Limits, as_json: bool
) -> ExitCode:
    language, source = read_program(file, language_name)
    toolchains = Toolchains(version_box=version_box(load_settings()))
    try:
        toolchain = await toolchains.require(language)
    except Unavailable as fault:
        if not as_json:
            raise
        print_json(as_object(Report(RunStatus.INTERNAL_ERROR), None, language.id, None))
        print_error(fault)
        return ExitCode.UNABLE
    program = Program(source, toolchain, limits, stdin)
    return await (run_to_json(program) if as_json else run_to_terminal(program))


async def run_to_terminal(program: Program) -> ExitCode:
    """Passes the output on as it comes, and explains a failure at the end."""
    stdout, stderr = OutputStream(1), OutputStream(2)
    try:
        async with asyncio.timeout(None) as scope:
            now = asyncio.get_running_loop().time
            stdout.when_closed = lambda: scope.reschedule(now())
            report, compilation = await compile_and_run(program, stdout, stderr)
    except TimeoutError:
        if scope.expired():  # nobody reads the output any more
            return ExitCode.FAILED
        raise
    if report.status is RunStatus.OK:
        return ExitCode.OK
    if report.status is RunStatus.COMPILE_ERROR and compilation:
        stderr.print_line(compilation.output.rstrip("\n"))
        stderr.print_line("deemster: compile error")
    else:
        runtime_bytes = program.toolchain.language.run.extra_memory_bytes
        stderr.print_line(f"deemster: {explain(report, program.limits, runtime_bytes)}")
    return ExitCode.FAILED


async def run_to_json(program: Program) -> ExitCode:
    unavailable = None
    try:
        report, compilation = await compile_and_run(program)
    except Unavailable as fault:
        unavailable = fault
        report, compilation = Report(RunStatus.INTERNAL_ERROR), None
    toolchain = program.toolchain
    print_json(as_object(report, compilation, toolchain.language.id, toolchain.version))
    if unavailable is not None:
        print_error(unavailable)
        return ExitCode.UNABLE
    return ExitCode.OK if report.status is RunStatus.OK else ExitCode.FAILED


async def compile_and_run(
    program: Program, stdout: OutputStream | None = None, stderr: OutputStream | None = None
) -> tuple[Report, Compilation | None]:
    settings = without_service(load_settings())
    async with (
        open_boxes(settings, [program.toolchain]) as boxes,
        open_compiler(settings, precompile_on_demand=False) as compiler,
        compiler.built(boxes, program.toolchain, program.source) as built,
    ):
        if built.program is None:
            return Report(RunStatus.COMPILE_ERROR), built.compilation
        report = await execute(
            boxes,
            built.program,
            program.limits,
            stdin=program.stdin,
            stdout=stdout,
            stderr=stderr,
        )
        return report, built.compilation


def read_program(file: Path, language_name: str | None) -> tuple[domain.Language, Source]:
    """The program in a file; the file's name and text tell the language if none is given."""
    content = read_source(file)
    catalogue = load_catalogue()
    if language_name:
        language = catalogue.named(language_name)
    else:
        language = catalogue.for_file(file.name, content.decode(errors="replace"))
    return language, single_file(language, file.name, content)


@contextmanager
def open_stdin(file: Path | None) -> Iterator[int | bytes]:
    if file is not None and file.is_dir():
        raise Refused(f"The input {file} is a directory: give a file.")
    try:
        descriptor = 0 if file is None else os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as fault:
        raise Refused(
            f"Can't read the input {file} ({fault.strerror}): check its name and permissions."
        ) from fault
    try:
        yield b"" if is_null_device(descriptor) else descriptor
    finally:
        if descriptor:
            os.close(descriptor)


def is_null_device(descriptor: int) -> bool:
    """An event loop can't wait for /dev/null to become readable."""
    return os.path.samestat(os.fstat(descriptor), Path(os.devnull).stat())
