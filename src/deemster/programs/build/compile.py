"""Compiles a program with its language's compiler in the sandbox."""

import asyncio
import os
from dataclasses import dataclass, replace
from pathlib import Path

from deemster.domain.errors import Unavailable
from deemster.domain.language import CompileStep, Language, fill, placeholders
from deemster.domain.limits import MIB, Limits
from deemster.domain.run_status import RunStatus
from deemster.domain.source import (
    Source,
    main_file,
    missing_entry_message,
    source_files,
    with_required_names,
)
from deemster.programs.build.cache_key import (
    cache_key,
    file_facts,
    step_facts,
    toolchain_facts,
)
from deemster.programs.build.entry import find_entry, is_program_missing
from deemster.programs.build.precompile import Precompiled
from deemster.programs.build.toolchain import Toolchain
from deemster.programs.failure import explain_end
from deemster.programs.scratch import OutputCollector
from deemster.programs.workspace import make_directory, write_files
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import BYTECODE_FILE, CODE_DIR, ENVIRONMENT, WORK_DIR, Command
from deemster.sandbox.wire import Report

SHOWN_BYTES = 64 * 1024
"""The most that is kept of a compiler's messages."""
STARVED_SHARE = 0.1
"""A compiler that waited for its wall-clock limit used less than this of its CPU limit."""
STARVED_TRIES = 3
"""So often a compile is tried that only waits."""


@dataclass(frozen=True, slots=True)
class Compilation:
    argv: tuple[str, ...]
    """Empty if the compiler was not started."""
    output: str
    ms: int
    status: RunStatus = RunStatus.OK
    starved: bool = False
    """It was ended by its wall-clock limit, and had used little CPU time."""


class CompilerStarved(Unavailable):
    """The compile is to be tried again, later or on another machine."""


@dataclass(frozen=True, slots=True)
class CompiledProgram:
    """A program that can be run: what a compiler has made, or sources that need no compiler."""

    toolchain: Toolchain
    directory: Path
    """Mounted at /code in the sandbox."""
    entry: str
    """The file or class that the run step starts."""
    others: tuple[str, ...] = ()
    """The other source files of a program that is not compiled."""
    bytecode: Path | None = None
    """Another directory with the bytecode alone, if `directory` has it beside the sources."""


@dataclass(frozen=True, slots=True)
class Build:
    program: CompiledProgram | None
    """None after a compile error."""
    compilation: Compilation | None
    """None for a language without a compiler."""
    from_cache: bool = False


@dataclass(frozen=True, slots=True)
class CompileRequest:
    """Everything that determines the result of a compilation."""

    toolchain: Toolchain
    source: Source
    main: str | None
    step: CompileStep | None
    argv: tuple[str, ...] = ()
    precompiled: Precompiled | None = None
    args: tuple[str, ...] = ()
    """The user's own arguments of the compiler, which are part of `argv` too."""


async def build(boxes: Boxes, toolchain: Toolchain, source: Source, workspace: Path) -> Build:
    """Builds without a cache; see `CachedCompiler` for one that has it."""
    request = make_request(toolchain, source)
    return (
        request if isinstance(request, Build) else await run_request(boxes, request, workspace)
    )


def make_request(
    toolchain: Toolchain,
    source: Source,
    limits: Limits | None = None,
    precompiled: Precompiled | None = None,
    args: tuple[str, ...] = (),
) -> CompileRequest | Build:
    """Returns a failed Build if no file can be compiled or started."""
    language = toolchain.language
    source = with_required_names(language, source)
    main, step = main_file(language, source), language.compile
    compiled = [name for name in source_files(language, source.files) if name != main]
    if main is not None:
        # Last, because some compilers need the modules that the main program uses first.
        compiled.append(main)
    if not compiled or (main is None and starts_a_file(language)):
        return Build(None, Compilation((), missing_entry_message(language, source), 0))
    if step is None:
        return CompileRequest(toolchain, source, main, None)
    if limits is not None:
        step = replace(step, limits=limits)
    values: dict[str, str | tuple[str, ...]] = {
        **toolchain.tools,
        "code": CODE_DIR,
        "source": f"{CODE_DIR}/{main}",
        "sources": tuple(f"{CODE_DIR}/{name}" for name in compiled),
        "output": f"{WORK_DIR}/{step.output}",
        "bytecode": f"{WORK_DIR}/{BYTECODE_FILE}",
        "memory_mb": str(step.limits.memory_bytes // MIB),
        "precompiled": precompiled.use if precompiled else (),
    }
    argv = fill(step.argv, values) + args
    return CompileRequest(toolchain, source, main, step, argv, precompiled, args)


def with_precompiled(
    request: CompileRequest, precompiled: Precompiled | None
) -> CompileRequest:
    limits = request.step.limits if request.step else None
    changed = make_request(request.toolchain, request.source, limits, precompiled, request.args)
    assert isinstance(changed, CompileRequest)
    return changed


def starts_a_file(language: Language) -> bool:
    step, run = language.compile, language.run
    compiles_one = step is not None and "source" in placeholders(step.argv)
    return compiles_one or ("entry" in placeholders(run.argv) and run.entry is None)


def key_of(request: CompileRequest, step: CompileStep) -> str:
    """The cache key. Precompiled headers are not part of it: they don't change the result."""
    precompile = request.toolchain.language.precompile
    return cache_key(
        toolchain=toolchain_facts(request.toolchain),
        files=file_facts(request.source.files),
        entry=[request.source.main, request.main],
        included=sorted(request.source.included),
        argv=request.argv,
        output=step.output,
        bytecode=step.bytecode,
        sandbox=step_facts(step.permissions, step.limits, step.environment),
        precompile=precompile and [precompile.argv, file_facts(precompile.files)],
    )


async def run_request(boxes: Boxes, request: CompileRequest, workspace: Path) -> Build:
    try:
        sources = await asyncio.to_thread(write_sources, workspace, request.source)
        if request.step is None:
            return Build(script(request, sources), None)
        return await run_compiler(boxes, request, request.step, workspace)
    except OSError as fault:
        raise Unavailable(
            f"The program could not be built in {workspace.parent} ({fault.strerror}): "
            "free some space there, or set DEEMSTER_WORK_DIR to another directory."
        ) from fault


def script(request: CompileRequest, directory: Path) -> CompiledProgram:
    names = source_files(request.toolchain.language, request.source.files)
    others = tuple(name for name in names if name != request.main)
    return CompiledProgram(request.toolchain, directory, request.main or "", others)


def write_sources(workspace: Path, source: Source) -> Path:
    directory = make_directory(workspace / "source")
    write_files(directory, source.files)
    return directory


async def run_compiler(
    boxes: Boxes, request: CompileRequest, step: CompileStep, workspace: Path
) -> Build:
    sources, target = workspace / "source", make_directory(workspace / "program")
    collector = OutputCollector(
        step.output or BYTECODE_FILE, target, max_bytes=step.limits.scratch_bytes
    )
    command = Command(
        argv=request.argv,
        limits=step.limits,
        profile=step.permissions.profile,
        environment={**ENVIRONMENT, **step.environment},
        code=sources,
        view=request.toolchain.views.compile,
        data=request.precompiled.directory if request.precompiled else None,
    )
    collects = step.output or step.bytecode
    report = await boxes.run(command, collect=collector if collects else None)
    entry, problem = "", failure_reason(report, step)
    directory = target if step.output else sources
    if report.status is RunStatus.OK and step.output:
        problem = collector.problem or ""
    if report.status is RunStatus.OK and not problem:
        entry, problem = await asyncio.to_thread(finish_build, request, step, directory)
    # A passed syntax check prints nothing that a user needs.
    passed_check = entry and not step.output
    messages = ["" if passed_check else diagnostics(report), problem]
    compilation = Compilation(
        argv=request.argv,
        output="\n".join(part for part in messages if part),
        ms=report.wall_ns // 1_000_000,
        status=report.status,
        starved=is_starved(report, step.limits),
    )
    if not entry:
        return Build(None, compilation)
    added = step.bytecode and await asyncio.to_thread(add_bytecode, sources, target)
    bytecode = target if added else None
    return Build(
        CompiledProgram(request.toolchain, directory, entry, bytecode=bytecode), compilation
    )


def add_bytecode(sources: Path, compiled: Path) -> bool:
    """Puts the bytecode of a program, if there is some, beside its sources.

    A file of the user that has its name stays what it is.
    """
    bytecode = compiled / BYTECODE_FILE
    if not bytecode.is_file() or os.path.lexists(sources / BYTECODE_FILE):
        return False
    write_files(sources, {BYTECODE_FILE: bytecode.read_bytes()})
    return True


def is_starved(report: Report, limits: Limits) -> bool:
    """Whether the compiler only waited: other programs may have kept the machine busy."""
    used_ms = report.cpu_ns / 1e6
    return report.status is RunStatus.WALL_LIMIT and used_ms < STARVED_SHARE * limits.cpu_ms


def retry_if_starved(starved: bool, tries: int) -> None:
    """Raises CompilerStarved; after some tries it does not, because the program may wait."""
    if starved and tries < STARVED_TRIES:
        raise CompilerStarved(
            "The compiler got almost no CPU time before its wall-clock limit: this machine is "
            "too busy."
        )


def finish_build(
    request: CompileRequest, step: CompileStep, directory: Path
) -> tuple[str, str]:
    """Finds the entry point, or why there is none, and adds the problem's data files."""
    language, source = request.toolchain.language, request.source
    if is_program_missing(language, directory):
        return "", "The compiler made no program that can be started."
    entry, problem = find_entry(language, source, request.main, directory)
    if entry and step.output:
        data = [name for name in source.included if not language.is_source(name)]
        write_files(directory, {name: source.files[name] for name in data})
    return entry, problem


def failure_reason(report: Report, step: CompileStep) -> str:
    """Why the compiler failed, if its own output doesn't say so."""
    output = report.stdout or report.stderr
    if report.status is RunStatus.OK or (report.status is RunStatus.NONZERO_EXIT and output):
        return ""
    return f"The compiler {explain_end(report, step.limits)}."


def diagnostics(report: Report) -> str:
    """The compiler's messages up to SHOWN_BYTES, with the user's own file names."""
    output = report.stdout + report.stderr
    text = output[:SHOWN_BYTES].decode(errors="replace").replace(f"{CODE_DIR}/", "")
    text = text.replace("\0", "\N{REPLACEMENT CHARACTER}")  # Postgres can't store it
    if len(output) > SHOWN_BYTES:
        text += f"\n… and {(len(output) - SHOWN_BYTES) // 1024 + 1:,} KB more."
    return text
