"""Samples and errors of the estimates that the API tells."""

import pytest

from deemster.bench.estimates import SAMPLES, error, spread, summary
from deemster.domain.ids import SubmissionId


def test_samples_are_spread_over_the_queue_to_its_end() -> None:
    waiting = [SubmissionId(str(number)) for number in range(1000)]
    samples = spread(waiting)
    assert len(samples) == SAMPLES
    assert samples[-1] == "999"
    assert samples == sorted(samples, key=int)
    assert spread(waiting[:3]) == ["0", "1", "2"]
    assert spread([]) == []


def test_errors_are_relative_to_the_real_value() -> None:
    assert error(12.5, 10) == 0.25
    assert error(5, 10) == -0.5
    figures = summary([-0.5, 0.1, 0.25])
    assert figures["median"] == 0.1
    assert figures["median_error"] == 0.25
    assert figures["worst_error"] == 0.5
    assert figures["within_budget"] == pytest.approx(2 / 3, abs=0.001)
