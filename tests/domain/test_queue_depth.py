"""Load levels and alarms, on both sides of each threshold (D4)."""

import pytest

from deemster.domain.job import QueueName
from deemster.domain.queue_depth import (
    ALARM_ABOVE,
    LoadLevel,
    QueueDepth,
    is_alarming,
    load_level,
)


@pytest.mark.parametrize(
    ("backlog", "level"),
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
def test_d4_each_backlog_has_one_load_level(backlog: int, level: LoadLevel) -> None:
    assert load_level(backlog) is level


@pytest.mark.parametrize(
    ("queue", "threshold"),
    [
        (QueueName.CRITICAL, 100),
        (QueueName.DEFAULT, 300),
        (QueueName.INTERACTIVE, 100),
        (QueueName.LOW, 500),
        (QueueName.TRANSMIT, 300),
        (QueueName.RECEIVE, 100),
    ],
)
def test_d4_each_queue_has_its_alarm(queue: QueueName, threshold: int) -> None:
    assert not is_alarming(queue, threshold)
    assert is_alarming(queue, threshold + 1)


def test_d4_every_queue_has_an_alarm() -> None:
    assert set(ALARM_ABOVE) == set(QueueName)


def test_delayed_jobs_belong_to_the_backlog() -> None:
    assert QueueDepth(waiting=3, active=7, delayed=2, failed=9).backlog == 5
