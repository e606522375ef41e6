"""Runs one analyser on a program in the sandbox, and reads its findings."""

import asyncio
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from deemster.domain.analysis import Analyzer, ToolResult, ToolStatus
from deemster.domain.errors import Unavailable
from deemster.domain.language import Language, extension_of, fill
from deemster.domain.limits import MIB
from deemster.domain.run_status import RunStatus
from deemster.domain.source import Source, main_file, source_files
from deemster.pipeline.analyze.findings import clean, resolve
from deemster.pipeline.analyze.formats import read_output
from deemster.pipeline.analyze.formats.tool_finding import UnreadableOutput
from deemster.pipeline.analyze.installed import InstalledAnalyzer
from deemster.programs.failure import explain_end
from deemster.programs.scratch import read_scratch_file
from deemster.programs.workspace import make_directory, workspace, write_files
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import CODE_DIR, DATA_DIR, ENVIRONMENT, WORK_DIR, Command
from deemster.sandbox.runner import SandboxFault
from deemster.sandbox.wire import Report

STREAMS = frozenset({"stdout", "stderr", "both"})
FINISHED = frozenset({RunStatus.OK, RunStatus.NONZERO_EXIT})
EXEC_STEP = "program-exec"
SHOWN_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """Everything that determines the findings of an analyser."""

    installed: InstalledAnalyzer
    argv: tuple[str, ...]
    files: Mapping[str, bytes]
    """What the tool reads."""
    reported: frozenset[str]
    """The files whose findings are reported: those that the problem did not add."""

    @property
    def analyzer(self) -> Analyzer:
        return self.installed.analyzer


def make_request(
    installed: InstalledAnalyzer, language: Language, source: Source
) -> ToolRequest | None:
    """None if no file is a source of the language."""
    analyzer = installed.analyzer
    # Other files are not shown to the tool: one could be a configuration that it obeys.
    read = {
        name: content
        for name, content in source.files.items()
        if language.is_source(name) or extension_of(name) in analyzer.also_reads
    }
    sources = source_files(language, read)
    reported = frozenset(read) - source.included
    if not sources or not reported:
        return None
    main, rules = main_file(language, source), analyzer.selected_rules
    values: dict[str, str | tuple[str, ...]] = {
        **installed.tools,
        "code": CODE_DIR,
        "data": DATA_DIR,
        "language": analyzer.languages[language.id],
        "output": f"{WORK_DIR}/{analyzer.output.stream}",
        "rules": ",".join(rules),
        "rule_options": tuple(analyzer.rule_option.replace("{rule}", rule) for rule in rules),
        "source": f"{CODE_DIR}/{main if main in sources else sources[0]}",
        "sources": tuple(f"{CODE_DIR}/{name}" for name in sources),
    }
    return ToolRequest(installed, fill(analyzer.argv, values), read, reported)


async def run_tool(boxes: Boxes, request: ToolRequest, work_dir: Path) -> ToolResult:
    """What the tool does, prints or fails at is a result; raises only if the sandbox fails."""
    try:
        async with workspace(work_dir) as directory:
            code, data = await asyncio.to_thread(write_inputs, directory, request)
            report, output = await run_command(boxes, request, code, data)
    except SandboxFault as fault:
        if fault.step != EXEC_STEP:
            raise
        # A wheel that was installed for one user only, for example.
        reason = f"{request.analyzer.name} can't be started in the sandbox: check that all "
        return failure(request, reason + "users may read its files.")
    except OSError as fault:
        raise Unavailable(
            f"The program could not be analysed in {work_dir} ({fault.strerror}): "
            "free some space there, or set DEEMSTER_WORK_DIR to another directory."
        ) from fault
    return await asyncio.to_thread(read_result, request, report, output)


def write_inputs(directory: Path, request: ToolRequest) -> tuple[Path, Path]:
    code, data = make_directory(directory / "code"), make_directory(directory / "data")
    words = request.analyzer.suppressions
    write_files(code, {name: neutral(text, words) for name, text in request.files.items()})
    write_files(data, request.analyzer.files)
    return code, data


def neutral(text: bytes, words: tuple[str, ...]) -> bytes:
    """The text with other letters in words that turn rules off; all places stay the same."""
    for word in words:
        pattern = re.compile(re.escape(word).encode(), re.IGNORECASE)
        text = pattern.sub(lambda match: re.sub(rb"[A-Za-z]", b"x", match[0]), text)
    return text


async def run_command(
    boxes: Boxes, request: ToolRequest, code: Path, data: Path
) -> tuple[Report, bytes | None]:
    analyzer = request.analyzer
    command = Command(
        argv=request.argv,
        limits=analyzer.limits,
        profile=analyzer.permissions.profile,
        environment={**ENVIRONMENT, **analyzer.environment},
        code=code,
        view=request.installed.view,
        data=data if analyzer.files else None,
    )
    stream = analyzer.output.stream
    if stream in STREAMS:
        report = await boxes.run(command)
        streams = {"stdout": report.stdout, "stderr": report.stderr}
        return report, streams.get(stream, report.stdout + b"\n" + report.stderr)
    written: list[bytes | None] = []
    max_bytes = analyzer.limits.output_bytes
    report = await boxes.run(
        command,
        collect=lambda scratch: written.append(read_file(scratch, stream, max_bytes)),
    )
    return report, written[0] if written else None


def read_file(scratch_fd: int, name: str, max_bytes: int) -> bytes | None:
    """Empty if the tool wrote no file; None if the file can't be read, or is too large."""
    try:
        os.stat(name, dir_fd=scratch_fd, follow_symlinks=False)
    except FileNotFoundError:
        return b""
    return read_scratch_file(scratch_fd, name, max_bytes)


def read_result(request: ToolRequest, report: Report, output: bytes | None) -> ToolResult:
    analyzer = request.analyzer
    if report.status not in FINISHED or report.exit_code not in analyzer.exit_codes:
        return failure(request, explain_failure(analyzer, report))
    if output is None:
        max_mb = analyzer.limits.output_bytes // MIB
        return failure(
            request, f"The result of {analyzer.name} is not a file of at most {max_mb} MB."
        )
    try:
        printed = read_output(analyzer, output)
    except UnreadableOutput as fault:
        return failure(request, f"The result of {analyzer.name} is not {fault}.")
    if report.exit_code and not printed:  # all tools have findings if they exit with 1
        return failure(request, explain_failure(analyzer, report))
    found = resolve(analyzer, printed, request.files, request.reported)
    return ToolResult(
        analyzer, ToolStatus.OK, request.installed.version, found.findings, found.remarks
    )


def failure(request: ToolRequest, reason: str) -> ToolResult:
    version = request.installed.version
    return ToolResult(request.analyzer, ToolStatus.FAILED, version, remarks=(reason,))


def explain_failure(analyzer: Analyzer, report: Report) -> str:
    words = clean(report.stderr.decode(errors="replace"))[:SHOWN_CHARACTERS]
    reason = f"{analyzer.name} {explain_end(report, analyzer.limits)}"
    return f"{reason}: {words}" if words else f"{reason}."
