"""The share of starts that other users got while they waited."""

from deemster.bench.fairness import fairness
from deemster.store.consistency import WaitingTime


def test_q8_only_starts_while_other_users_wait_are_counted() -> None:
    """The hog has three submissions before another user comes; later nobody waits."""
    hog = [WaitingTime(True, 0.0, at) for at in (1.0, 3.0, 9.0)]
    other = WaitingTime(False, 0.5, 4.0)
    late = WaitingTime(False, 20.0, 20.1)
    found = fairness([*hog, other, late])
    # While the other user waited, the hog had one start, and the other user had one.
    assert found == {"starts": 2, "of_hog": 1, "share": 0.5, "by_arrival": 0.0}
    assert fairness(hog)["share"] is None
