"""A tier that fails repeatedly is left alone for a while."""

from deemster.pipeline.evaluate.circuit_breaker import CircuitBreaker


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_it_opens_after_failures_in_a_row_and_lets_one_call_try() -> None:
    clock = Clock()
    breaker = CircuitBreaker(failures=2, open_s=30, clock=clock)
    breaker.failed()
    breaker.succeeded()
    breaker.failed()
    assert breaker.allows(), "the failures were not in a row"
    breaker.failed()
    assert not breaker.allows()
    clock.now = 31
    assert breaker.allows()
    assert not breaker.allows(), "one call is enough to try"
    breaker.failed()
    clock.now = 60
    assert not breaker.allows()
    clock.now = 62
    assert breaker.allows()
    breaker.succeeded()
    assert breaker.allows()
    assert breaker.allows()
