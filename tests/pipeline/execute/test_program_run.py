"""Tests for program_run.py: one result of several runs."""

from deemster.domain.run_status import RunStatus
from deemster.pipeline.execute.program_run import summarise
from deemster.sandbox.wire import Report


def report(status: RunStatus, cpu_ms: int, memory_kb: int, exit_code: int = 0) -> Report:
    return Report(
        status=status,
        exit_code=exit_code,
        cpu_ns=cpu_ms * 1_000_000,
        wall_ns=2 * cpu_ms * 1_000_000,
        memory_bytes=memory_kb * 1024,
    )


def test_time_and_memory_of_several_runs_are_averages() -> None:
    """F1: as in Judge0; the rest is that of the last run."""
    runs = [
        report(RunStatus.OK, 10, 100),
        report(RunStatus.OK, 20, 200),
        report(RunStatus.NONZERO_EXIT, 60, 600, exit_code=3),
    ]
    found = summarise(runs, {"f": b"x"})
    assert (found.status, found.exit_code) == (RunStatus.NONZERO_EXIT, 3)
    assert (found.cpu_ms, found.wall_ms, found.memory_kb) == (30, 60, 300)
    assert found.returned_files == {"f": b"x"}
