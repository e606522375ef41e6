"""Turns source into something that runs, by the language's compiler in the cage."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from deemster.domain.language import CompileStep, EntryRule, fill
from deemster.domain.limits import MIB
from deemster.domain.outcome import Status
from deemster.domain.source import Source
from deemster.pipeline.judge.collect import Harvest
from deemster.pipeline.judge.toolchain import Toolchain
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import CODE_DIR, WORK_DIR, Command
from deemster.sandbox.report import Report


@dataclass(frozen=True, slots=True)
class Compilation:
    """What the compiler was asked and what it said, for the record and for the user."""

    argv: tuple[str, ...]
    output: str
    ms: int


@dataclass(frozen=True, slots=True)
class Artifact:
    """Something that can be run, as often as needed."""

    toolchain: Toolchain
    directory: Path
    """Seen as /code in the box."""
    entry: str
    """What the run step starts: a file, or the name of a compiled class."""


@dataclass(frozen=True, slots=True)
class Build:
    artifact: Artifact | None
    """None is a compile error."""
    compilation: Compilation | None
    """None where there was nothing to compile."""


async def build(boxes: Boxes, toolchain: Toolchain, source: Source, workspace: Path) -> Build:
    sources = workspace / "source"
    await asyncio.to_thread(write_files, sources, source.files)
    step = toolchain.language.compile
    if step is None:
        return Build(Artifact(toolchain, sources, source.main), None)
    return await run_compiler(boxes, step, toolchain, source, workspace)


async def run_compiler(
    boxes: Boxes, step: CompileStep, toolchain: Toolchain, source: Source, workspace: Path
) -> Build:
    argv = compile_argv(step, toolchain, source)
    harvest = Harvest(step.output, make_directory(workspace / "artifact"))
    command = Command(
        argv=argv,
        limits=step.limits,
        profile=step.permissions.profile,
        code=workspace / "source",
    )
    report = await boxes.run(command, collect=harvest)
    entry, problem = None, complaint(report, step)
    if report.status is Status.OK:
        problem = harvest.problem or ""
    if report.status is Status.OK and not problem:
        entry = await asyncio.to_thread(find_entry, toolchain, harvest.target, source.main)
        problem = "" if entry else "There is no main method to start."
    said = [plain_text(report, source), problem]
    compilation = Compilation(
        argv=argv,
        output="\n".join(part for part in said if part),
        ms=report.wall_ns // 1_000_000,
    )
    artifact = Artifact(toolchain, harvest.target, entry) if entry else None
    return Build(artifact, compilation)


def compile_argv(step: CompileStep, toolchain: Toolchain, source: Source) -> tuple[str, ...]:
    language = toolchain.language
    others = [name for name in sorted(source.files) if name != source.main]
    compiled = [source.main, *(name for name in others if language.is_source(name))]
    values: dict[str, str | tuple[str, ...]] = {
        **toolchain.tools,
        "code": CODE_DIR,
        "source": f"{CODE_DIR}/{source.main}",
        "sources": tuple(f"{CODE_DIR}/{name}" for name in compiled),
        "output": f"{WORK_DIR}/{step.output}",
        "memory_mb": str(step.limits.memory_bytes // MIB),
    }
    return fill(step.argv, values)


def complaint(report: Report, step: CompileStep) -> str:
    """Why nothing came of it, where the compiler can't have said so itself."""
    said = report.stdout or report.stderr
    if report.status is Status.OK or (report.status is Status.NONZERO_EXIT and said):
        return ""
    reasons = {
        Status.NONZERO_EXIT: f"failed with exit code {report.exit_code}",
        Status.SIGNALLED: f"was ended by signal {report.signal}",
        Status.TIME_LIMIT: f"needed more than {step.limits.cpu_ms / 1000:.0f} s of CPU time",
        Status.WALL_LIMIT: f"was not done after {step.limits.wall_ms / 1000:.0f} s",
        Status.MEMORY_LIMIT: f"needed more than {step.limits.memory_bytes // MIB} MB of memory",
        Status.OUTPUT_LIMIT: f"wrote more than {step.limits.output_bytes // MIB} MB",
        Status.FORBIDDEN_SYSCALL: f"used the forbidden system call {report.syscall}",
    }
    reason = reasons.get(report.status, f"was stopped ({report.status})")
    return f"The compiler {reason}."


def plain_text(report: Report, source: Source) -> str:
    """The diagnostics, with the files named as the user knows them."""
    text = (report.stdout + report.stderr).decode(errors="replace")
    for name in source.files:
        text = text.replace(f"{CODE_DIR}/{name}", name)
    return text


def find_entry(toolchain: Toolchain, directory: Path, main: str) -> str | None:
    rule = toolchain.language.run.entry
    if rule is None:
        return main
    names = compiled_names(directory, rule)
    fitting = [name for name in names if is_entry(directory, name, rule)]
    stem = main.rpartition(".")[0]
    chosen = min(fitting, key=lambda name: (Path(name).stem != stem, name), default=None)
    return chosen and chosen.removesuffix(rule.suffix).replace("/", ".")


def compiled_names(directory: Path, rule: EntryRule) -> list[str]:
    found = directory.rglob(f"*{rule.suffix}")
    return [str(path.relative_to(directory)) for path in found if path.is_file()]


def is_entry(directory: Path, name: str, rule: EntryRule) -> bool:
    content = (directory / name).read_bytes()
    return all(needle in content for needle in rule.contains)


def write_files(directory: Path, files: Mapping[str, bytes]) -> None:
    make_directory(directory)
    for name, content in files.items():
        path = directory / name
        path.write_bytes(content)
        path.chmod(0o644)


def make_directory(path: Path) -> Path:
    """Readable by the box's own user, whatever the umask; its parent keeps others out."""
    path.mkdir()
    path.chmod(0o755)
    return path
