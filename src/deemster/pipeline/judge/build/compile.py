"""Turns source into something that runs, by the language's compiler in the cage."""

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path

from deemster.domain.errors import Unavailable
from deemster.domain.language import CompileStep, Language, fill, placeholders
from deemster.domain.limits import MIB, Limits
from deemster.domain.run_status import RunStatus
from deemster.domain.source import Source, main_file, missing_entry_message, source_files
from deemster.pipeline.judge.build.entry import find_entry
from deemster.pipeline.judge.build.fingerprint import (
    file_facts,
    fingerprint,
    step_facts,
    toolchain_facts,
)
from deemster.pipeline.judge.build.precompile import Precompiled
from deemster.pipeline.judge.build.toolchain import Toolchain
from deemster.pipeline.judge.scratch import OutputCollector
from deemster.pipeline.judge.workspace import make_directory, write_files
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import CODE_DIR, ENVIRONMENT, WORK_DIR, Command
from deemster.sandbox.report import Report

SHOWN_BYTES = 64 * 1024
"""Most of a compiler's words that are kept."""


@dataclass(frozen=True, slots=True)
class Compilation:
    """What the compiler was asked and what it said, for the record and for the user."""

    argv: tuple[str, ...]
    """Empty where the compiler was not even asked."""
    output: str
    ms: int
    status: RunStatus = RunStatus.OK
    """How the compiler itself ended."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """Something that can be run, as often as needed."""

    toolchain: Toolchain
    directory: Path
    """Observed as /code in the box."""
    entry: str
    """What the run step starts: a file, or the name of a compiled class."""


@dataclass(frozen=True, slots=True)
class Build:
    artifact: Artifact | None
    """None is a compile error."""
    compilation: Compilation | None
    """None where there was nothing to compile."""
    from_cache: bool = False


@dataclass(frozen=True, slots=True)
class CompileRequest:
    """One program to be built, with all that decides what comes of it."""

    toolchain: Toolchain
    source: Source
    main: str | None
    step: CompileStep | None
    argv: tuple[str, ...] = ()
    precompiled: Precompiled | None = None


async def build(boxes: Boxes, toolchain: Toolchain, source: Source, workspace: Path) -> Build:
    """Builds it anew; a `Compiler` remembers."""
    order = make_order(toolchain, source)
    return order if isinstance(order, Build) else await carry_out(boxes, order, workspace)


def make_order(
    toolchain: Toolchain,
    source: Source,
    limits: Limits | None = None,
    precompiled: Precompiled | None = None,
) -> CompileRequest | Build:
    """What to do, or the compile error that is clear beforehand."""
    language = toolchain.language
    main, step = main_file(language, source), language.compile
    compiled = [name for name in source_files(language, source.files) if name != main]
    if main is not None:
        # Last: some compilers want to have seen what the main program uses.
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
        "memory_mb": str(step.limits.memory_bytes // MIB),
        "precompiled": precompiled.use if precompiled else (),
    }
    return CompileRequest(toolchain, source, main, step, fill(step.argv, values), precompiled)


def with_precompiled(order: CompileRequest, precompiled: Precompiled | None) -> CompileRequest:
    limits = order.step.limits if order.step else None
    changed = make_order(order.toolchain, order.source, limits, precompiled)
    assert isinstance(changed, CompileRequest)
    return changed


def starts_a_file(language: Language) -> bool:
    step, run = language.compile, language.run
    compiles_one = step is not None and "source" in placeholders(step.argv)
    return compiles_one or ("entry" in placeholders(run.argv) and run.entry is None)


def key_of(order: CompileRequest, step: CompileStep) -> str:
    """Equal for orders that come to the same; what was precompiled only saves time."""
    precompile = order.toolchain.language.precompile
    return fingerprint(
        toolchain=toolchain_facts(order.toolchain),
        files=file_facts(order.source.files),
        entry=[order.source.main, order.main],
        included=sorted(order.source.included),
        argv=order.argv,
        output=step.output,
        cage=step_facts(step.permissions, step.limits, step.environment),
        precompile=precompile and [precompile.argv, file_facts(precompile.files)],
    )


async def carry_out(boxes: Boxes, order: CompileRequest, workspace: Path) -> Build:
    try:
        sources = await asyncio.to_thread(write_sources, workspace, order.source)
        if order.step is None:
            return Build(Artifact(order.toolchain, sources, order.main or ""), None)
        return await run_compiler(boxes, order, order.step, workspace)
    except OSError as fault:
        raise Unavailable(
            f"The program could not be built in {workspace.parent} ({fault.strerror}): "
            "make room there, or name another place with DEEMSTER_WORK_DIR."
        ) from fault


def write_sources(workspace: Path, source: Source) -> Path:
    directory = make_directory(workspace / "source")
    write_files(directory, source.files)
    return directory


async def run_compiler(
    boxes: Boxes, order: CompileRequest, step: CompileStep, workspace: Path
) -> Build:
    sources, target = workspace / "source", make_directory(workspace / "artifact")
    collector = OutputCollector(step.output, target, max_bytes=step.limits.scratch_bytes)
    command = Command(
        argv=order.argv,
        limits=step.limits,
        profile=step.permissions.profile,
        environment={**ENVIRONMENT, **step.environment},
        code=sources,
        data=order.precompiled.directory if order.precompiled else None,
    )
    report = await boxes.run(command, collect=collector if step.output else None)
    entry, problem = "", complaint(report, step)
    directory = target if step.output else sources
    if report.status is RunStatus.OK:
        problem = collector.problem or ""
    if report.status is RunStatus.OK and not problem:
        entry, problem = await asyncio.to_thread(finish, order, step, directory)
    passed_check = entry and not step.output  # "Syntax OK" is no news
    said = ["" if passed_check else plain_text(report), problem]
    compilation = Compilation(
        argv=order.argv,
        output="\n".join(part for part in said if part),
        ms=report.wall_ns // 1_000_000,
        status=report.status,
    )
    artifact = Artifact(order.toolchain, directory, entry) if entry else None
    return Build(artifact, compilation)


def finish(order: CompileRequest, step: CompileStep, directory: Path) -> tuple[str, str]:
    """What starts, or why nothing does; data that a problem included is put beside it."""
    language, source = order.toolchain.language, order.source
    entry, problem = find_entry(language, source, order.main, directory)
    if entry and step.output:
        data = [name for name in source.included if not language.is_source(name)]
        write_files(directory, {name: source.files[name] for name in data})
    return entry, problem


def complaint(report: Report, step: CompileStep) -> str:
    """Why nothing came of it, where the compiler can't have said so itself."""
    said = report.stdout or report.stderr
    if report.status is RunStatus.OK or (report.status is RunStatus.NONZERO_EXIT and said):
        return ""
    limits = step.limits
    reasons = {
        RunStatus.NONZERO_EXIT: f"failed with exit code {report.exit_code}",
        RunStatus.SIGNALLED: f"was ended by signal {report.signal}",
        RunStatus.TIME_LIMIT: f"needed more than {limits.cpu_ms / 1000:.0f} s of CPU time",
        RunStatus.WALL_LIMIT: f"was not done after {limits.wall_ms / 1000:.0f} s",
        RunStatus.MEMORY_LIMIT: f"needed more than {limits.memory_bytes // MIB} MB of memory",
        RunStatus.OUTPUT_LIMIT: f"wrote more than {limits.output_bytes // MIB} MB",
        RunStatus.FORBIDDEN_SYSCALL: f"used the forbidden system call {report.syscall}",
    }
    reason = reasons.get(report.status, f"was stopped ({report.status})")
    return f"The compiler {reason}."


def plain_text(report: Report) -> str:
    """The diagnostics up to a bound, with the files named as the user knows them."""
    said = report.stdout + report.stderr
    text = said[:SHOWN_BYTES].decode(errors="replace").replace(f"{CODE_DIR}/", "")
    if len(said) > SHOWN_BYTES:
        text += f"\n… and {(len(said) - SHOWN_BYTES) // 1024 + 1:,} KB more."
    return text
