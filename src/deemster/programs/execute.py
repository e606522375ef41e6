"""Runs a built program within its limits plus what its language runtime needs."""

from dataclasses import replace

from deemster.domain.language import RunStep, fill
from deemster.domain.limits import MIB, Limits
from deemster.domain.run_status import RunStatus
from deemster.programs.build.compile import CompiledProgram
from deemster.programs.output import Tail
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import CODE_DIR, ENVIRONMENT, Command
from deemster.sandbox.streams import Sink
from deemster.sandbox.wire import Report

MIN_HEAP_MB = 8
MAX_STACK_MB = 1000
"""Runtimes refuse larger stacks."""


async def execute(
    boxes: Boxes,
    program: CompiledProgram,
    limits: Limits,
    *,
    stdin: bytes | int = b"",
    stdout: Sink | None = None,
    stderr: Sink | None = None,
) -> Report:
    """`stdin` may be a descriptor; output without a sink is in the report."""
    step = program.toolchain.language.run
    tail = Tail(stderr) if stderr else None
    command = command_for(program, limits)
    report = await boxes.run(command, stdin=stdin, stdout=stdout, stderr=tail)
    return detect_memory_limit(step, report, tail.kept if tail else report.stderr)


def command_for(
    program: CompiledProgram,
    limits: Limits,
    args: tuple[str, ...] = (),
    *,
    interpreter_args: tuple[str, ...] = (),
) -> Command:
    """`interpreter_args` are the user's own. They can be a program (`python3 -c`), which a
    waiting interpreter would run before it gives up its privileges and gets its limits.
    """
    language = program.toolchain.language
    step = language.run
    needs_bytecode = language.compile is not None and language.compile.bytecode
    values = run_values(step, program, limits)
    environment = dict(
        zip(step.environment, fill(step.environment.values(), values), strict=True)
    )
    argv = fill(step.argv, values)
    return Command(
        argv=argv[:1] + interpreter_args + argv[1:] + args,
        limits=sandbox_limits(step, limits),
        profile=step.permissions.profile,
        environment={**ENVIRONMENT, **environment},
        code=program.directory,
        view=program.toolchain.views.run,
        address_space=step.address_space,
        # A waiting interpreter looks for modules beside its program, and finds no folder yet.
        warm=step.warm
        and "/" not in program.entry
        and not interpreter_args
        and (program.bytecode is not None or not needs_bytecode),
    )


def run_values(
    step: RunStep, program: CompiledProgram, limits: Limits
) -> dict[str, str | tuple[str, ...]]:
    """The values of the placeholders in the run step's arguments and environment."""
    heap_mb = max(MIN_HEAP_MB, limits.memory_bytes // MIB)
    stack_mb = min(limits.stack_bytes // MIB or heap_mb, MAX_STACK_MB)
    return {
        **program.toolchain.tools,
        "code": CODE_DIR,
        "entry": program.entry,
        "others": tuple(f"{CODE_DIR}/{name}" for name in program.others),
        "heap_mb": str(heap_mb),
        "stack_mb": str(stack_mb),
        "memory_mb": str(sandbox_limits(step, limits).memory_bytes // MIB),
    }


def sandbox_limits(step: RunStep, limits: Limits) -> Limits:
    """The program's limits plus what its runtime uses for itself."""
    return replace(
        limits,
        cpu_ms=limits.cpu_ms + step.extra_cpu_ms,
        wall_ms=limits.wall_ms + step.extra_cpu_ms,
        memory_bytes=limits.memory_bytes + step.extra_memory_bytes,
        processes=limits.processes + step.extra_processes,
    )


def detect_memory_limit(step: RunStep, report: Report, stderr: bytes) -> Report:
    """Turns a failed run into a memory limit if the runtime says that its heap was full.

    A program can print the same text and fail, but it only changes one failure to another.
    """
    failed = report.status in {RunStatus.NONZERO_EXIT, RunStatus.SIGNALLED}
    if failed and any(text.encode() in stderr for text in step.out_of_memory):
        return replace(report, status=RunStatus.MEMORY_LIMIT)
    return report
