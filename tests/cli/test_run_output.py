"""Every status of a run is explained in text."""

import pytest

from deemster.cli.run_output import explain
from deemster.domain.limits import MIB, Limits
from deemster.domain.run_status import RunStatus
from deemster.sandbox.wire import Report


@pytest.mark.parametrize(
    "status", [status for status in RunStatus if status is not RunStatus.OK]
)
def test_every_status_has_an_explanation(status: RunStatus) -> None:
    text = explain(Report(status, exit_code=1, signal=11, syscall="ptrace"), Limits())
    assert text
    assert "_" not in text
    assert "None" not in text


def test_the_limit_is_told_and_the_memory_of_the_runtime_beside_it() -> None:
    report = Report(RunStatus.MEMORY_LIMIT, memory_bytes=417 * MIB)
    assert explain(report, Limits(), runtime_bytes=160 * MIB) == (
        "memory limit: needed more than 256 MB and 160 MB for its runtime"
    )


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (11, "segmentation fault (signal 11)"),
        (64, "real-time signal 30 (signal 64)"),
        (99, "signal 99"),
    ],
)
def test_a_signal_is_shown_in_words_and_an_unknown_one_by_its_number(
    number: int, text: str
) -> None:
    assert explain(Report(RunStatus.SIGNALLED, signal=number), Limits()) == text
