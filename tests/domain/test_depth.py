"""D4: what a depth says, at both sides of each border."""

import pytest

from deemster.domain.job import QueueName
from deemster.domain.queue_depth import LoadLevel, QueueDepth, is_alarming, load_level


@pytest.mark.parametrize(
    ("backlog", "signal"),
    [
        (0, LoadLevel.HEALTHY),
        (50, LoadLevel.HEALTHY),
        (51, LoadLevel.BUSY),
        (500, LoadLevel.BUSY),
        (501, LoadLevel.SCALE_WORKERS),
        (5000, LoadLevel.SCALE_WORKERS),
        (5001, LoadLevel.INCIDENT),
        (10**9, LoadLevel.INCIDENT),
    ],
)
def test_d4_a_depth_has_one_signal(backlog: int, signal: LoadLevel) -> None:
    assert load_level(backlog) is signal


@pytest.mark.parametrize(
    ("queue", "most"),
    [(QueueName.CRITICAL, 100), (QueueName.DEFAULT, 300), (QueueName.LOW, 500)],
)
def test_d4_each_queue_has_its_alarm(queue: QueueName, most: int) -> None:
    assert not is_alarming(queue, most)
    assert is_alarming(queue, most + 1)


def test_what_is_delayed_is_undone_too() -> None:
    assert QueueDepth(waiting=3, active=7, delayed=2, failed=9).backlog == 5
