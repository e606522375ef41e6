"""Tests for the division of a worker's slots among processes."""

import pytest

from deemster.cli.up.worker_processes import divide_worker
from deemster.settings import Settings


def test_few_slots_are_served_by_one_process() -> None:
    assert divide_worker(Settings(slots=8, slots_per_process=8)) == [{}]


@pytest.mark.parametrize(
    ("slots", "slots_per_process", "parts"),
    [(9, 8, [5, 4]), (31, 8, [8, 8, 8, 7]), (3, 1, [1, 1, 1]), (16, 8, [8, 8])],
)
def test_no_process_has_more_slots_than_it_may(
    slots: int, slots_per_process: int, parts: list[int]
) -> None:
    shares = divide_worker(Settings(slots=slots, slots_per_process=slots_per_process))
    assert [share["slots"] for share in shares] == parts


def test_the_processes_have_the_slots_of_one_worker() -> None:
    """The queue counts starts for all consumers together, so their rate is not divided."""
    settings = Settings(
        slots=20,
        slots_per_process=8,
        execution_slots=16,
        language_servers=2,
        max_starts_per_second=6.0,
        metrics_port=9100,
    )
    first, second, third = divide_worker(settings)
    assert first == {
        "slots": 7,
        "compile_slots": 1,
        "execution_slots": 6,
        "language_servers": 1,
        "metrics_port": 9100,
    }
    assert [each["execution_slots"] for each in (second, third)] == [5, 5]
    assert [each["compile_slots"] for each in (second, third)] == [0, 0]
    assert [each["language_servers"] for each in (second, third)] == [1, 0]
    assert [each["metrics_port"] for each in (second, third)] == [9105, 9110]
    for each in (second, third):
        assert (each["precompile"], each["warm_up_mb"]) == (False, 0)
