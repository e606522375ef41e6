"""Fair sharing of slots between queues."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from deemster.domain.job import QueueName
from deemster.pipeline.queue.fetcher import FairShare

CRITICAL, DEFAULT, LOW = QueueName.CRITICAL, QueueName.DEFAULT, QueueName.LOW
QUEUES = (CRITICAL, DEFAULT, LOW)


def serve(shares: FairShare, turns: int, having: set[QueueName]) -> Counter[QueueName]:
    served: Counter[QueueName] = Counter()
    for _ in range(turns):
        queue = next(queue for queue in shares.order() if queue in having)
        shares.served(queue)
        served[queue] += 1
    return served


def test_queues_with_work_are_served_six_to_three_to_one() -> None:
    """Q8"""
    served = serve(FairShare(QUEUES, strict=False), 100, set(QUEUES))
    assert served == {CRITICAL: 60, DEFAULT: 30, LOW: 10}


def test_two_queues_with_work_share_by_weight() -> None:
    """Q8"""
    assert serve(FairShare(QUEUES, strict=False), 80, {DEFAULT, LOW}) == {
        DEFAULT: 60,
        LOW: 20,
    }


def test_an_empty_queue_saves_up_no_share() -> None:
    shares = FairShare(QUEUES, strict=False)
    serve(shares, 1000, {LOW})
    assert serve(shares, 40, {DEFAULT, LOW})[LOW] >= 9


def test_with_strict_priority_the_heaviest_queue_is_always_first() -> None:
    """Q8"""
    shares = FairShare(QUEUES, strict=True)
    assert serve(shares, 50, set(QUEUES)) == {CRITICAL: 50}
    assert shares.order() == [CRITICAL, DEFAULT, LOW]


@given(st.lists(st.sets(st.sampled_from(QUEUES), min_size=1), max_size=30))
def test_no_queue_with_work_starves(history: list[set[QueueName]]) -> None:
    shares = FairShare(QUEUES, strict=False)
    for having in history:
        serve(shares, 7, having)
    assert set(serve(shares, 20, set(QUEUES))) == set(QUEUES)
