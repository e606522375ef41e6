"""Tests a toolchain by running the language's test program in the sandbox."""

from dataclasses import dataclass
from pathlib import Path

from deemster.domain.limits import Limits
from deemster.domain.run_status import RunStatus
from deemster.domain.source import single_file
from deemster.programs.build.compile import build
from deemster.programs.build.toolchain import Toolchain
from deemster.programs.execute import execute
from deemster.programs.workspace import workspace
from deemster.sandbox.boxes import Boxes

LIMITS = Limits(cpu_ms=10_000, wall_ms=30_000)


@dataclass(frozen=True, slots=True)
class SelfTestResult:
    toolchain: Toolchain
    problem: str = ""
    """Empty if the test passed."""
    cpu_ms: int = 0
    memory_kb: int = 0
    compile_ms: int | None = None
    """None for a language without a compiler."""


async def self_test(boxes: Boxes, toolchain: Toolchain, work_dir: Path) -> SelfTestResult:
    test = toolchain.language.test
    source = single_file(
        toolchain.language, toolchain.language.source.file, test.source.encode()
    )
    async with workspace(work_dir) as directory:
        built = await build(boxes, toolchain, source, directory)
        if built.program is None:
            output = built.compilation.output.strip() if built.compilation else ""
            return SelfTestResult(toolchain, f"does not compile: {output}")
        report = await execute(boxes, built.program, LIMITS, stdin=test.stdin.encode())
    problem = ""
    if report.status is not RunStatus.OK:
        reason = report.syscall or report.stderr.decode(errors="replace").strip()
        problem = f"ended with {report.status}: {reason}".rstrip(": ")
    elif report.stdout.decode(errors="replace") != test.stdout:
        problem = f"printed {report.stdout[:200]!r}, not {test.stdout!r}"
    return SelfTestResult(
        toolchain=toolchain,
        problem=problem,
        cpu_ms=report.cpu_ns // 1_000_000,
        memory_kb=report.memory_bytes // 1024,
        compile_ms=built.compilation.ms if built.compilation else None,
    )
