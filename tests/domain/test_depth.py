"""D4: what a depth says, at both sides of each border."""

import pytest

from deemster.domain.job import QueueName
from deemster.domain.queue_depth import Depth, Signal, is_alarming, signal_of


@pytest.mark.parametrize(
    ("undone", "signal"),
    [
        (0, Signal.HEALTHY),
        (50, Signal.HEALTHY),
        (51, Signal.BUSY),
        (500, Signal.BUSY),
        (501, Signal.SCALE_WORKERS),
        (5000, Signal.SCALE_WORKERS),
        (5001, Signal.INCIDENT),
        (10**9, Signal.INCIDENT),
    ],
)
def test_d4_a_depth_has_one_signal(undone: int, signal: Signal) -> None:
    assert signal_of(undone) is signal


@pytest.mark.parametrize(
    ("queue", "most"),
    [(QueueName.CRITICAL, 100), (QueueName.DEFAULT, 300), (QueueName.LOW, 500)],
)
def test_d4_each_queue_has_its_alarm(queue: QueueName, most: int) -> None:
    assert not is_alarming(queue, most)
    assert is_alarming(queue, most + 1)


def test_what_is_delayed_is_undone_too() -> None:
    assert Depth(waiting=3, active=7, delayed=2, failed=9).undone == 5
