"""Plain words for every bad end."""

import pytest

from deemster.cli.explain import explain
from deemster.domain.limits import MIB, Limits
from deemster.domain.run_status import RunStatus
from deemster.sandbox.report import Report


@pytest.mark.parametrize(
    "status", [status for status in RunStatus if status is not RunStatus.OK]
)
def test_every_status_has_words(status: RunStatus) -> None:
    words = explain(Report(status, exit_code=1, signal=11, syscall="ptrace"), Limits())
    assert words
    assert "_" not in words
    assert "None" not in words


def test_a_runtimes_allowance_is_told_apart() -> None:
    report = Report(RunStatus.MEMORY_LIMIT, memory_bytes=300 * MIB)
    assert explain(report, Limits(), runtime_bytes=160 * MIB) == (
        "memory limit: used 300 MB, allowed 256 MB and 160 MB for its runtime"
    )


def test_an_unknown_signal_is_told_by_number() -> None:
    assert explain(Report(RunStatus.SIGNALLED, signal=64), Limits()).startswith("ended by SIG")
    assert explain(Report(RunStatus.SIGNALLED, signal=99), Limits()) == "ended by signal 99"
