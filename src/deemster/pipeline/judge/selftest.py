"""Runs a language's own small program in the cage, to see that its toolchain works there."""

from dataclasses import dataclass
from pathlib import Path

from deemster.domain.limits import Limits
from deemster.domain.run_status import RunStatus
from deemster.domain.source import single_file
from deemster.pipeline.judge.build.compile import build
from deemster.pipeline.judge.build.toolchain import Toolchain
from deemster.pipeline.judge.execute import execute
from deemster.pipeline.judge.workspace import workspace
from deemster.sandbox.boxes import Boxes

LIMITS = Limits(cpu_ms=10_000, wall_ms=30_000)


@dataclass(frozen=True, slots=True)
class SelfTestResult:
    toolchain: Toolchain
    problem: str = ""
    """Empty when the program did what it should."""
    cpu_ms: int = 0
    memory_kb: int = 0
    compile_ms: int | None = None
    """None where there was nothing to compile."""


async def self_test(boxes: Boxes, toolchain: Toolchain, work_dir: Path) -> SelfTestResult:
    test = toolchain.language.test
    source = single_file(
        toolchain.language, toolchain.language.source.file, test.source.encode()
    )
    async with workspace(work_dir) as place:
        built = await build(boxes, toolchain, source, place)
        if built.artifact is None:
            said = built.compilation.output.strip() if built.compilation else ""
            return SelfTestResult(toolchain, f"does not compile: {said}")
        report = await execute(boxes, built.artifact, LIMITS, stdin=test.stdin.encode())
    problem = ""
    if report.status is not RunStatus.OK:
        named = report.syscall or report.stderr.decode(errors="replace").strip()
        problem = f"ended with {report.status}: {named}".rstrip(": ")
    elif report.stdout.decode(errors="replace") != test.stdout:
        problem = f"printed {report.stdout[:200]!r}, not {test.stdout!r}"
    return SelfTestResult(
        toolchain=toolchain,
        problem=problem,
        cpu_ms=report.cpu_ns // 1_000_000,
        memory_kb=report.memory_bytes // 1024,
        compile_ms=built.compilation.ms if built.compilation else None,
    )
