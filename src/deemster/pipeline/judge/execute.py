"""Runs what was built, within the limits that its language needs around the program's own."""

from dataclasses import replace

from deemster.domain.language import RunStep, fill
from deemster.domain.limits import MIB, Limits
from deemster.domain.outcome import Status
from deemster.pipeline.judge.compile import Artifact
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import CODE_DIR, Command
from deemster.sandbox.report import Report
from deemster.sandbox.streams import Sink

MIN_HEAP_MB = 8
TAIL_BYTES = 16_384


async def execute(
    boxes: Boxes,
    artifact: Artifact,
    limits: Limits,
    *,
    stdin: bytes | int = b"",
    stdout: Sink | None = None,
    stderr: Sink | None = None,
) -> Report:
    """Runs it once. `stdin` may be a descriptor; output goes to sinks or into the report."""
    step = artifact.toolchain.language.run
    command = Command(
        argv=run_argv(step, artifact, limits),
        limits=box_limits(step, limits),
        profile=step.permissions.profile,
        code=artifact.directory,
        address_space=step.address_space,
    )
    tail = Tail(stderr) if stderr else None
    report = await boxes.run(command, stdin=stdin, stdout=stdout, stderr=tail)
    return settle_memory(step, report, tail.kept if tail else report.stderr)


def run_argv(step: RunStep, artifact: Artifact, limits: Limits) -> tuple[str, ...]:
    values = {
        **artifact.toolchain.tools,
        "code": CODE_DIR,
        "entry": artifact.entry,
        "heap_mb": str(max(MIN_HEAP_MB, limits.memory_bytes // MIB)),
        "memory_mb": str(box_limits(step, limits).memory_bytes // MIB),
    }
    return fill(step.argv, values)


def box_limits(step: RunStep, limits: Limits) -> Limits:
    """The program's limits and, on top, what its runtime uses for itself."""
    return replace(
        limits,
        cpu_ms=limits.cpu_ms + step.extra_cpu_ms,
        wall_ms=limits.wall_ms + step.extra_cpu_ms,
        memory_bytes=limits.memory_bytes + step.extra_memory_bytes,
        processes=limits.processes + step.extra_processes,
    )


def settle_memory(step: RunStep, report: Report, stderr: bytes) -> Report:
    """A runtime that gave up at its heap limit has reached the memory limit.

    A program can print the same words and fail, and only hides one failure behind another.
    """
    failed = report.status in {Status.NONZERO_EXIT, Status.SIGNALLED}
    if failed and step.out_of_memory and step.out_of_memory.encode() in stderr:
        return replace(report, status=Status.MEMORY_LIMIT)
    return report


class Tail:
    """Passes output on and keeps the end of it."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self.kept = b""

    def __call__(self, data: bytes) -> None:
        self.kept = (self.kept + data)[-TAIL_BYTES:]
        self._sink(data)
