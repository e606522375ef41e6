"""The TTL cache bounds the age and the number of its values."""

from deemster.cache.ttl import TtlCache


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def test_a_value_expires_however_often_it_is_used() -> None:
    clock = Clock()
    cache = TtlCache[str](keep_s=60, max_entries=2, clock=clock)
    cache.put("a", "first")
    clock.now_s += 59
    assert cache.get("a") == "first"
    clock.now_s += 1
    assert cache.get("a") is None
    cache.put("a", "second")
    clock.now_s += 59
    assert cache.get("a") == "second"
    cache.forget("a")
    assert cache.get("a") is None


def test_a_full_cache_drops_the_least_recently_used_value() -> None:
    cache = TtlCache[int](keep_s=60, max_entries=2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert [cache.get(key) for key in "abc"] == [1, None, 3]
