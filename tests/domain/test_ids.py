"""Ids sort by creation time, also those of the same millisecond (A5)."""

import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from deemster.domain.ids import (
    ALPHABET,
    GENERATED_ID,
    Clock,
    execution_of_uuid,
    new_execution_id,
    new_id,
    uuid_of,
)

MANY = 10_000


def millisecond(made: str) -> int:
    number = 0
    for digit in made.partition("_")[2]:
        number = number << 5 | ALPHABET.index(digit)
    return number >> 80


def test_ids_of_one_process_are_in_the_order_they_were_made() -> None:
    """A5."""
    made = [new_id("sub") for _ in range(MANY)]
    assert made == sorted(set(made))
    assert all(GENERATED_ID.fullmatch(each) for each in made)
    times = {millisecond(each) for each in made}
    assert len(times) < MANY, "no two of them share a millisecond: nothing was tried"


def test_an_id_begins_with_the_time_in_milliseconds() -> None:
    """A5."""
    before = time.time_ns() // 1_000_000
    made = new_id("sub")
    assert before <= millisecond(made) <= time.time_ns() // 1_000_000


def test_an_id_can_not_be_guessed_from_the_one_before() -> None:
    """A5: more than 60 bits are random."""
    made = [new_id("sub") for _ in range(MANY)]
    assert len({each[-13:] for each in made}) == MANY


def test_an_id_of_an_execution_can_be_written_as_a_uuid() -> None:
    """F1: a token of Judge0 is one."""
    made = [new_execution_id() for _ in range(MANY)]
    uuids = [uuid_of(each) for each in made]
    assert {each.version for each in uuids} == {4}
    assert [execution_of_uuid(each) for each in uuids] == made == sorted(set(made))
    assert [str(each) for each in uuids] == sorted({str(each) for each in uuids})


def test_ticks_grow_when_the_system_clock_stops_or_goes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A5."""
    clock = Clock()
    readings = iter([5_000_000, 5_000_000, 1_000_000, 9_000_000])
    monkeypatch.setattr(time, "time_ns", lambda: next(readings))
    ticks = [clock.tick() for _ in range(4)]
    assert ticks == [5 << 12, (5 << 12) + 1, (5 << 12) + 2, 9 << 12]


def test_threads_never_get_the_same_tick() -> None:
    """A5."""
    clock = Clock()
    with ThreadPoolExecutor(8) as threads:
        of_each = list(
            threads.map(lambda _: [clock.tick() for _ in range(MANY)], range(8)),
        )
    assert len({tick for ticks in of_each for tick in ticks}) == 8 * MANY
    assert all(a < b for ticks in of_each for a, b in pairwise(ticks))
