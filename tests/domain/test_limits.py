"""Time limits: the measured time, the wall-clock limit, and inferred limits."""

import pytest

from deemster.domain.limits import (
    infer_limit_ms,
    is_too_slow,
    measured_cpu_ms,
    wall_ms,
)


def test_a_program_may_run_ten_percent_beyond_its_limit() -> None:
    assert measured_cpu_ms(1000) == 1100
    assert wall_ms(1000) > 2 * measured_cpu_ms(1000)


def test_exactly_the_limit_is_in_time() -> None:
    assert not is_too_slow(1000, 1000)
    assert is_too_slow(1000.1, 1000)


@pytest.mark.parametrize(
    ("slowest", "factor", "resolution", "expected"),
    [(0, 5, 1000, 1000), (200, 5, 1000, 1000), (201, 5, 1000, 2000), (130, 2, 100, 300)],
)
def test_a_limit_is_inferred_from_the_slowest_accepted_submission(
    slowest: float, factor: float, resolution: int, expected: int
) -> None:
    assert infer_limit_ms(slowest, factor, resolution) == expected
