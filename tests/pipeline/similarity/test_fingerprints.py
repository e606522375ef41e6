"""Tests for similarity/fingerprints.py: winnowing as the paper describes it."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from deemster.pipeline.similarity.fingerprints import (
    ALGORITHM,
    SEQUENCE,
    WINDOW,
    Fingerprints,
    fingerprints_of,
    sequence_hashes,
    winnowed,
)
from deemster.pipeline.similarity.symbols import Symbol
from tests.pipeline.similarity.sources import made_source, program, symbols

TEXTS = st.lists(st.sampled_from(["name", "number", "(", ")", "=", "loop"]), max_size=120)


def as_symbols(texts: list[str]) -> list[Symbol]:
    return [Symbol(text, number) for number, text in enumerate(texts, 1)]


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_each_window_has_a_fingerprint_and_each_is_smallest_in_one(texts: list[str]) -> None:
    hashes = sequence_hashes(as_symbols(texts))
    chosen = dict(winnowed(hashes))
    windows = [hashes[start : start + WINDOW] for start in range(len(hashes) - WINDOW + 1)]
    for start, window in enumerate(windows or ([hashes] if hashes else [])):
        assert any(place in chosen for place in range(start, start + len(window)))
    for place, value in chosen.items():
        assert value == hashes[place]
        near = range(max(0, place - WINDOW + 1), place + 1)
        assert any(value == min(hashes[start : start + WINDOW]) for start in near)


@settings(max_examples=100, deadline=None)
@given(TEXTS, TEXTS, st.integers(0, 1000))
def test_programs_that_share_enough_symbols_share_a_fingerprint(
    one: list[str], other: list[str], seed: int
) -> None:
    choose = random.Random(seed)
    shared = choose.choices(["name", "(", ")", "=", "+", "if"], k=SEQUENCE + WINDOW - 1)
    first = fingerprints_of([as_symbols(one + shared + other)])
    second = fingerprints_of([as_symbols(other + shared + one)])
    assert set(first.hashes) & set(second.hashes)


@settings(max_examples=50, deadline=None)
@given(TEXTS)
def test_the_rolling_hash_depends_only_on_its_sequence(texts: list[str]) -> None:
    symbols = as_symbols(texts)
    hashes = sequence_hashes(symbols)
    for place, value in enumerate(hashes):
        assert sequence_hashes(symbols[place : place + SEQUENCE]) == [value]


def test_repeated_code_has_few_fingerprints() -> None:
    """The robust form of winnowing: equal hashes are not all chosen."""
    found = fingerprints_of([as_symbols(["name"] * 1000)])
    assert len(found) <= 1000 / WINDOW + 1


def test_hashes_are_the_same_in_every_process() -> None:
    """Stored hashes must stay comparable: change ALGORITHM when this changes."""
    hashes = sequence_hashes(as_symbols(["name", "=", "number", "("] * 4))
    assert (ALGORITHM, hashes) == (1, [1525323792657603927])


def test_stored_bytes_are_read_back() -> None:
    found = program(made_source(1)).fingerprints
    assert len(found) > 100
    assert Fingerprints.from_bytes(found.to_bytes()) == found
    empty = fingerprints_of([[]])
    assert Fingerprints.from_bytes(empty.to_bytes()) == empty


def test_no_sequence_of_the_template_is_chosen() -> None:
    template, own = made_source(1, 4), made_source(2, 4)
    left_out = frozenset(sequence_hashes_of(template))
    assert len(program(template, template=left_out).fingerprints) == 0
    found = program(template + own, template=left_out).fingerprints
    assert left_out.isdisjoint(found.hashes)
    assert min(found.last_lines) > template.count("\n")


def sequence_hashes_of(source: str) -> list[int]:
    return sequence_hashes(symbols(source))
