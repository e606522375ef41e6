"""What was looked up lately: how long, and how much of it."""

from deemster.cache.ttl import TtlCache


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def test_a_value_is_known_for_its_time_however_often_it_is_used() -> None:
    clock = Clock()
    recent = TtlCache[str](keep_s=60, max_entries=2, clock=clock)
    recent.put("a", "first")
    clock.now_s += 59
    assert recent.get("a") == "first"
    clock.now_s += 1
    assert recent.get("a") is None
    recent.put("a", "second")
    clock.now_s += 59
    assert recent.get("a") == "second"
    recent.forget("a")
    assert recent.get("a") is None


def test_the_one_that_was_not_used_for_longest_makes_room() -> None:
    recent = TtlCache[int](keep_s=60, max_entries=2)
    recent.put("a", 1)
    recent.put("b", 2)
    assert recent.get("a") == 1
    recent.put("c", 3)
    assert [recent.get(key) for key in "abc"] == [1, None, 3]
