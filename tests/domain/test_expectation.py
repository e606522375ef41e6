"""Expectations of example submissions, compared with results."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deemster.domain.errors import Refused
from deemster.domain.expectation import (
    AC,
    RTE,
    TLE,
    WA,
    CaseRule,
    Expectation,
    Observed,
    ObservedCase,
    disagreements,
    expand_braces,
    matches_name,
)
from deemster.domain.verdict import Verdict


def observed(*verdicts: Verdict, score: float | None = None) -> Observed:
    cases = [ObservedCase(f"secret/{n}", each, f"said {n}") for n, each in enumerate(verdicts)]
    final = next((each for each in verdicts if each is not Verdict.ACCEPTED), Verdict.ACCEPTED)
    return Observed(final, cases, score, best_score=100, group_scores=[("secret/g", 30.0)])


@pytest.mark.parametrize(
    ("expectation", "judged", "agrees"),
    [
        (Expectation((Verdict.ACCEPTED,)), observed(Verdict.ACCEPTED), True),
        (Expectation((Verdict.ACCEPTED,)), observed(Verdict.WRONG_ANSWER), False),
        (Expectation(), observed(Verdict.WRONG_ANSWER), True),
        (
            Expectation(rules=(CaseRule(permitted=AC | TLE),)),
            observed(Verdict.TIME_LIMIT),
            True,
        ),
        (
            Expectation(rules=(CaseRule(permitted=AC | TLE),)),
            observed(Verdict.RUNTIME_ERROR),
            False,
        ),
        (Expectation(rules=(CaseRule(required=RTE),)), observed(Verdict.MEMORY_LIMIT), True),
        (Expectation(rules=(CaseRule(required=WA),)), observed(Verdict.ACCEPTED), False),
        (
            Expectation(rules=(CaseRule(message="said 1"),)),
            observed(*[Verdict.ACCEPTED] * 2),
            True,
        ),
        (
            Expectation(rules=(CaseRule(message="said 9"),)),
            observed(*[Verdict.ACCEPTED] * 2),
            False,
        ),
        (
            Expectation(rules=(CaseRule(score=(10, 50)),)),
            observed(Verdict.ACCEPTED, score=50),
            True,
        ),
        (
            Expectation(rules=(CaseRule(score=(10, 50)),)),
            observed(Verdict.ACCEPTED, score=51),
            False,
        ),
        (Expectation(rules=(CaseRule("secret/g", score=(30, 30)),)), observed(), True),
        (Expectation(rules=(CaseRule("secret/g", score=(31, 31)),)), observed(), False),
        (Expectation(not_best_score=True), observed(Verdict.ACCEPTED, score=99), True),
        (Expectation(not_best_score=True), observed(Verdict.ACCEPTED, score=100), False),
    ],
)
def test_an_expectation_agrees_with_some_results_only(
    expectation: Expectation, judged: Observed, agrees: bool
) -> None:
    found = disagreements(expectation, judged)
    assert (not found) is agrees
    assert all(text.endswith(".") for text in found)


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("", "secret/1", True),
        ("secret", "secret/g/1", True),
        ("secret/g", "secret/g/1", True),
        ("secret/g", "secret/gg/1", False),
        ("secret/*-easy", "secret/01-easy", True),
        ("secret/*-easy", "secret/01-hard", False),
        ("*", "secret/1", True),
        ("secret/*/2", "secret/g/1", False),
        ("{sample,secret}/1", "secret/1", True),
        ("secret/{a,b}{1,2}", "secret/b2", True),
        ("secret/a*b*c", "secret/aXbYc", True),
        ("secret/a*b*c", "secret/aXcYb", False),
        ("secret/a*a", "secret/a", False),
        ("secret/[ab]", "secret/a", False),
        ("secret/1/2", "secret/1", False),
    ],
)
def test_a_pattern_matches_cases_and_the_groups_that_contain_them(
    pattern: str, name: str, matches: bool
) -> None:
    assert matches_name(pattern, name) is matches


@given(st.text("ab/*{,}", max_size=30), st.text("ab/", min_size=1, max_size=10))
def test_every_pattern_gives_an_answer(pattern: str, name: str) -> None:
    assert matches_name(pattern, name) in {True, False}


def test_x12_a_pattern_that_expands_without_bound_is_refused() -> None:
    assert expand_braces("a.{py,{c,cpp}}") == ["a.py", "a.c", "a.cpp"]
    with pytest.raises(Refused, match="fewer braces"):
        expand_braces("{a,b}" * 40)
