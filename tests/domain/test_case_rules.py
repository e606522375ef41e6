"""Rules over cases, compared with results."""

from deemster.domain.expectation import (
    AC,
    TLE,
    WA,
    CaseRule,
    Expectation,
    Observed,
    ObservedCase,
    disagreements,
)
from deemster.domain.verdict import Verdict


def observed(*cases: tuple[str, Verdict], skipped: tuple[str, ...] = ()) -> Observed:
    return Observed(
        Verdict.WRONG_ANSWER,
        [ObservedCase(name, verdict) for name, verdict in cases],
        skipped=skipped,
    )


def test_a_required_verdict_may_belong_to_a_skipped_case() -> None:
    rule = CaseRule(cases="secret/b", required=TLE, message="slow")
    ran = ("secret/a/1", Verdict.WRONG_ANSWER)
    assert not disagreements(Expectation(rules=(rule,)), observed(ran, skipped=("secret/b/1",)))
    told = disagreements(Expectation(rules=(rule,)), observed(ran, skipped=("secret/a/2",)))
    assert len(told) == 2


def test_a_forbidden_verdict_is_reported_even_if_cases_were_skipped() -> None:
    rule = CaseRule(permitted=AC | WA)
    told = disagreements(
        Expectation(rules=(rule,)),
        observed(("secret/1", Verdict.TIME_LIMIT), skipped=("secret/2",)),
    )
    expected = "Accepted or Output Limit Exceeded or Wrong Answer"
    assert told == [f"Case secret/1 is Time Limit Exceeded, expected {expected}."]


def test_a_score_is_that_of_the_group_itself() -> None:
    scores = (("secret", 70.0), ("secret/a", 40.0), ("secret/b", 30.0))
    result = Observed(Verdict.PARTIAL, (), score=70.0, group_scores=scores)
    fits = Expectation(rules=(CaseRule(cases="secret", score=(70, 70)),))
    assert not disagreements(fits, result)
    fits = Expectation(rules=(CaseRule(cases="secret/{a,b}", score=(30, 40)),))
    assert not disagreements(fits, result)
    wrong = Expectation(rules=(CaseRule(cases="secret/*", score=(40, 40)),))
    assert disagreements(wrong, result) == ["The score of secret/* is 30, not 40."]
