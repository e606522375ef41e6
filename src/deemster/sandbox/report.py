"""The report of a run, and the table that derives its status (J7)."""

from collections.abc import Callable
from dataclasses import dataclass

from deemster.domain.limits import Limits
from deemster.domain.run_status import RunStatus
from deemster.sandbox.policy import name_syscall
from deemster.sandbox.wire import End, RawReport


@dataclass(frozen=True, slots=True)
class Report:
    status: RunStatus
    exit_code: int | None = None
    signal: int | None = None
    syscall: str | None = None
    cpu_ns: int = 0
    """CPU time of the whole process tree."""
    wall_ns: int = 0
    memory_bytes: int = 0
    """Peak memory of the whole process tree, including files in the scratch."""
    stdout: bytes = b""
    stderr: bytes = b""
    stdout_truncated: bool = False
    stderr_truncated: bool = False
    ended_ns: int = 0
    """On the clock of time.monotonic_ns()."""

    @property
    def started_ns(self) -> int:
        return self.ended_ns - self.wall_ns


@dataclass(frozen=True, slots=True)
class _Facts:
    raw: RawReport
    limits: Limits
    output_truncated: bool


RULES: tuple[tuple[Callable[[_Facts], bool], RunStatus], ...] = (
    (lambda f: f.raw.end is End.FAULT, RunStatus.INTERNAL_ERROR),
    (lambda f: f.raw.end is End.FORBIDDEN, RunStatus.FORBIDDEN_SYSCALL),
    (lambda f: f.output_truncated, RunStatus.OUTPUT_LIMIT),
    (lambda f: f.raw.end is End.CANCELLED, RunStatus.CANCELLED),
    (
        lambda f: f.raw.end is End.PROCESSES or f.raw.process_refusals > 0,
        RunStatus.PROCESS_LIMIT,
    ),
    (lambda f: f.raw.end is End.MEMORY or f.raw.oom_kills > 0, RunStatus.MEMORY_LIMIT),
    (lambda f: f.raw.memory_bytes >= f.limits.memory_bytes, RunStatus.MEMORY_LIMIT),
    (lambda f: f.raw.end is End.CPU, RunStatus.TIME_LIMIT),
    (lambda f: f.raw.cpu_ns >= f.limits.cpu_ms * 1_000_000, RunStatus.TIME_LIMIT),
    (lambda f: f.raw.end is End.WALL, RunStatus.WALL_LIMIT),
    (lambda f: f.raw.end is End.SIGNALLED, RunStatus.SIGNALLED),
    (lambda f: f.raw.code != 0, RunStatus.NONZERO_EXIT),
    (lambda _: True, RunStatus.OK),
)
"""The first rule that applies gives the status."""


def status_of(raw: RawReport, limits: Limits, *, output_truncated: bool) -> RunStatus:
    facts = _Facts(raw, limits, output_truncated)
    return next(status for rule, status in RULES if rule(facts))


def make_report(
    raw: RawReport,
    limits: Limits,
    stdout: tuple[bytes, bool],
    stderr: tuple[bytes, bool],
) -> Report:
    return Report(
        status=status_of(raw, limits, output_truncated=stdout[1] or stderr[1]),
        exit_code=raw.code if raw.end is End.EXITED else None,
        signal=raw.code if raw.end is End.SIGNALLED else None,
        syscall=name_syscall(raw.arch, raw.code) if raw.end is End.FORBIDDEN else None,
        cpu_ns=raw.cpu_ns,
        wall_ns=raw.wall_ns,
        memory_bytes=raw.memory_bytes,
        stdout=stdout[0],
        stderr=stderr[0],
        stdout_truncated=stdout[1],
        stderr_truncated=stderr[1],
        ended_ns=raw.ended_ns,
    )
