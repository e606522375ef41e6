"""`deemster run`: one program in the cage, without any server."""

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
import uvloop

from deemster.cli.explain import explain
from deemster.cli.output_stream import OutputStream
from deemster.domain.errors import Refused, Unavailable
from deemster.domain.limits import MIB, Limits
from deemster.domain.run_status import RunStatus
from deemster.domain.source import SOURCE_BYTES, Source, single_file
from deemster.pipeline.judge.build.compile import Compilation
from deemster.pipeline.judge.build.languages import load_catalogue
from deemster.pipeline.judge.build.toolchain import Toolchain, Toolchains
from deemster.pipeline.judge.execute import execute
from deemster.sandbox.report import Report
from deemster.settings import load_settings
from deemster.wiring.judging import open_boxes, open_compiler

EXIT_PROGRAM = 1
EXIT_OURS = 2
TERMINAL_WALL_S = 3600.0


@dataclass(frozen=True, slots=True)
class Job:
    source: Source
    toolchain: Toolchain
    limits: Limits
    stdin: int | bytes


@dataclass(frozen=True, slots=True)
class Outcome:
    report: Report
    compilation: Compilation | None


def run(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The program's source.")],
    language: Annotated[
        str | None,
        typer.Option(
            metavar="L",
            help="Its language, when the file's name doesn't tell: see `languages`.",
        ),
    ] = None,
    stdin: Annotated[
        Path | None,
        typer.Option(
            metavar="F", help="What the program reads, instead of this command's input."
        ),
    ] = None,
    time: Annotated[
        float, typer.Option(metavar="S", help="CPU seconds.", min=0.001, max=3600)
    ] = 10.0,
    wall: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            help="Seconds by the clock; by default twice the CPU seconds and at least 10 more "
            "than these, or an hour when the input is typed at a terminal.",
            min=0.001,
            max=86400,
            show_default=False,
        ),
    ] = None,
    memory: Annotated[
        int, typer.Option(metavar="MB", help="Memory.", min=1, max=1 << 20)
    ] = 256,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print one JSON object instead of the program's output."),
    ] = False,
) -> None:
    """Run one program in the sandbox.

    The exit code is 0 when the program ended well, 1 when it failed or reached a limit, and 2
    when Deemster could not run it. For example:

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
    typed = isinstance(stdin, int) and os.isatty(stdin)
    return TERMINAL_WALL_S if typed else max(2 * time_s, time_s + 10)


async def run_file(
    file: Path, language_name: str | None, stdin: int | bytes, limits: Limits, as_json: bool
) -> int:
    content = read_source(file)
    catalogue = load_catalogue()
    if language_name:
        language = catalogue.named(language_name)
    else:
        language = catalogue.for_file(file.name, content.decode(errors="replace"))
    source = single_file(language, file.name, content)
    toolchain = await Toolchains().require(language)
    job = Job(source, toolchain, limits, stdin)
    return await (run_for_program(job) if as_json else run_for_person(job))


async def run_for_person(job: Job) -> int:
    """Output goes on as it comes; what was wrong is said at the end."""
    stdout, stderr = OutputStream(1), OutputStream(2)
    try:
        async with asyncio.timeout(None) as scope:
            now = asyncio.get_running_loop().time
            stdout.when_closed = lambda: scope.reschedule(now())
            outcome = await carry_out(job, stdout, stderr)
    except TimeoutError:
        if scope.expired():  # nobody reads on: no reason to go on, and none to complain
            return EXIT_PROGRAM
        raise
    report = outcome.report
    if report.status is RunStatus.OK:
        return 0
    if report.status is RunStatus.COMPILE_ERROR and outcome.compilation:
        stderr.say(outcome.compilation.output.rstrip("\n"))
        stderr.say("deemster: compile error")
    else:
        runtime = job.toolchain.language.run.extra_memory_bytes
        stderr.say(f"deemster: {explain(report, job.limits, runtime)}")
    return EXIT_PROGRAM


async def run_for_program(job: Job) -> int:
    fault = None
    try:
        outcome = await carry_out(job)
    except Unavailable as caught:
        fault = caught
        outcome = Outcome(Report(RunStatus.INTERNAL_ERROR), None)
    print(json.dumps(as_object(job, outcome)))
    if fault is not None:
        print(f"deemster: {fault}", file=sys.stderr)
        return EXIT_OURS
    return 0 if outcome.report.status is RunStatus.OK else EXIT_PROGRAM


async def carry_out(
    job: Job, stdout: OutputStream | None = None, stderr: OutputStream | None = None
) -> Outcome:
    settings = load_settings()
    async with (
        open_boxes(settings, [job.toolchain]) as boxes,
        open_compiler(settings, prepare=False) as compiler,
        compiler.built(boxes, job.toolchain, job.source) as built,
    ):
        if built.artifact is None:
            return Outcome(Report(RunStatus.COMPILE_ERROR), built.compilation)
        report = await execute(
            boxes, built.artifact, job.limits, stdin=job.stdin, stdout=stdout, stderr=stderr
        )
        return Outcome(report, built.compilation)


def as_object(job: Job, outcome: Outcome) -> dict[str, Any]:
    report, compilation = outcome.report, outcome.compilation
    return {
        "status": str(report.status),
        "exit_code": report.exit_code,
        "signal": report.signal,
        "syscall": report.syscall,
        "cpu_ms": report.cpu_ns // 1_000_000,
        "wall_ms": report.wall_ns // 1_000_000,
        "memory_kb": report.memory_bytes // 1024,
        "stdout": report.stdout.decode(errors="replace"),
        "stderr": report.stderr.decode(errors="replace"),
        "compile": compilation
        and {
            "argv": list(compilation.argv),
            "output": compilation.output,
            "ms": compilation.ms,
        },
        "language": job.toolchain.language.id,
        "version": job.toolchain.version,
    }


def read_source(file: Path) -> bytes:
    try:
        if file.is_dir():
            raise Refused(f"{file} is a directory: name the file with the program.")
        if not file.is_file():
            raise Refused(f"There is no file {file}: check its name.")
        with file.open("rb") as opened:
            return opened.read(SOURCE_BYTES + 1)
    except OSError as fault:
        raise Refused(
            f"{file} can't be read ({fault.strerror}): check its permissions."
        ) from fault


@contextmanager
def open_stdin(file: Path | None) -> Iterator[int | bytes]:
    if file is not None and file.is_dir():
        raise Refused(f"The input {file} is a directory: name a file.")
    try:
        descriptor = 0 if file is None else os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as fault:
        raise Refused(f"The input {file} can't be read: {fault.strerror}.") from fault
    try:
        yield b"" if is_null_device(descriptor) else descriptor
    finally:
        if descriptor:
            os.close(descriptor)


def is_null_device(descriptor: int) -> bool:
    """It is nothing that a loop can wait for, and has nothing to say."""
    return os.path.samestat(os.fstat(descriptor), Path(os.devnull).stat())
