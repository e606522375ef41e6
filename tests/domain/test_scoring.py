"""Scores of cases, groups and subtasks, and the scores that checkers may give."""

import pytest

from deemster.domain.problem import (
    Aggregation,
    Case,
    DefaultGrader,
    Group,
    StaticCheck,
    Subtask,
)
from deemster.domain.scoring import (
    NOT_GIVEN,
    GivenScore,
    ScoredVerdict,
    ScoreFault,
    grade_by_default,
    grade_subtask,
    points_of_static,
    score_case,
    stops,
)
from deemster.domain.verdict import Verdict

AC, WA, TLE, RE, JE = (
    Verdict.ACCEPTED,
    Verdict.WRONG_ANSWER,
    Verdict.TIME_LIMIT,
    Verdict.RUNTIME_ERROR,
    Verdict.JUDGE_ERROR,
)


def case(name: str = "secret/1", points: float | None = None) -> Case:
    return Case(name, f"data/{name}.in", f"data/{name}.ans", points=points)


def group(
    grading: Subtask | DefaultGrader, *cases: Case, static: StaticCheck | None = None
) -> Group:
    return Group("secret/g", cases or (case(),), grading, static=static)


def results(*pairs: tuple[Verdict, float]) -> list[ScoredVerdict]:
    return [ScoredVerdict(verdict, score) for verdict, score in pairs]


@pytest.mark.parametrize(
    ("grader", "given", "expected"),
    [
        (DefaultGrader(), [(AC, 1), (AC, 2)], (AC, 3)),
        (DefaultGrader(), [(AC, 1), (WA, 0), (RE, 0)], (RE, 1)),
        (DefaultGrader("first_error"), [(AC, 1), (WA, 0), (RE, 0)], (WA, 1)),
        (DefaultGrader("always_accept"), [(WA, 0), (AC, 5)], (AC, 5)),
        (DefaultGrader(score=Aggregation.MIN), [(AC, 4), (AC, 2)], (AC, 2)),
        (DefaultGrader(score=Aggregation.MAX), [(AC, 4), (AC, 2)], (AC, 4)),
        (DefaultGrader(score=Aggregation.AVERAGE), [(AC, 4), (AC, 2)], (AC, 3)),
        (DefaultGrader(accept_if_any=True), [(WA, 0), (AC, 2)], (AC, 2)),
        (DefaultGrader(accept_if_any=True), [(WA, 0), (TLE, 0)], (TLE, 0)),
        (DefaultGrader(ignore_sample=True), [(WA, 7), (AC, 2)], (AC, 2)),
        (DefaultGrader("always_accept"), [(JE, 0), (AC, 5)], (JE, 5)),
    ],
)
def test_the_default_grader_of_the_legacy_format(
    grader: DefaultGrader, given: list[tuple[Verdict, float]], expected: tuple[Verdict, float]
) -> None:
    graded = grade_by_default(grader, results(*given))
    assert (graded.verdict, graded.score) == expected


@pytest.mark.parametrize(
    ("subtask", "given", "expected"),
    [
        (Subtask(40), [(AC, 40), (AC, 40)], (AC, 40)),
        (Subtask(40), [(AC, 40), (WA, 0)], (WA, 0)),
        (Subtask(40, Aggregation.SUM), [(AC, 20), (WA, 0)], (Verdict.PARTIAL, 20)),
        (Subtask(40, Aggregation.SUM), [(TLE, 0), (WA, 0)], (TLE, 0)),
        (Subtask(40, Aggregation.SUM), [(AC, 20), (AC, 10)], (Verdict.PARTIAL, 30)),
        (Subtask(40, Aggregation.MIN), [(AC, 40), (AC, 10)], (Verdict.PARTIAL, 10)),
        (Subtask(None, Aggregation.SUM), [(AC, 20), (AC, 10)], (AC, 30)),
        (Subtask(None, Aggregation.SUM), [(AC, 20), (WA, 0)], (Verdict.PARTIAL, 20)),
        (Subtask(0), [(AC, 0)], (AC, 0)),
        (Subtask(0), [(WA, 0)], (WA, 0)),
        (Subtask(40, Aggregation.SUM), [(AC, 20), (JE, 0)], (JE, 20)),
    ],
)
def test_a_subtask_aggregates_the_scores_of_its_cases(
    subtask: Subtask, given: list[tuple[Verdict, float]], expected: tuple[Verdict, float]
) -> None:
    graded = grade_subtask(group(subtask), subtask, results(*given))
    assert (graded.verdict, graded.score) == expected


def test_a_group_above_its_maximum_is_an_error_of_the_jury() -> None:
    subtask = Subtask(10, Aggregation.SUM)
    with pytest.raises(ScoreFault, match="its maximum is 10"):
        grade_subtask(group(subtask), subtask, results((AC, 9), (AC, 9)))


def test_cases_of_a_sum_share_what_the_static_check_leaves() -> None:
    subtask = Subtask(100, Aggregation.SUM, whole_score_only=False)
    whole = group(subtask, case("a"), case("b"), static=StaticCheck(20))
    assert score_case(whole, case("a"), AC, NOT_GIVEN) == ScoredVerdict(AC, 40)
    assert score_case(whole, case("a"), AC, GivenScore(share=0.5)) == ScoredVerdict(AC, 20)
    assert score_case(whole, case("a"), AC, GivenScore(points=3)) == ScoredVerdict(AC, 3)


@pytest.mark.parametrize(
    ("subtask", "verdict", "given", "word"),
    [
        (Subtask(10, Aggregation.SUM), AC, GivenScore(points=1), "takes only pass or fail"),
        (Subtask(10, Aggregation.MIN, (), False), WA, GivenScore(points=1), "rejected"),
        (Subtask(10, Aggregation.MIN, (), False), AC, GivenScore(points=11), "at most 10"),
        (Subtask(10, Aggregation.MIN, (), False), AC, GivenScore(1, 0.5), "both"),
        (Subtask(None, Aggregation.SUM, (), False), AC, NOT_GIVEN, "unbounded"),
        (Subtask(None, Aggregation.SUM, (), False), AC, GivenScore(share=0.5), "share"),
    ],
)
def test_scores_against_the_rules_are_errors_of_the_jury(
    subtask: Subtask, verdict: Verdict, given: GivenScore, word: str
) -> None:
    with pytest.raises(ScoreFault, match=word):
        score_case(group(subtask), case(), verdict, given)


def test_legacy_cases_have_the_scores_of_their_group_or_of_the_checker() -> None:
    legacy = Group("secret", (case(),), accept_score=5, reject_score=-1)
    assert score_case(legacy, case(), AC, NOT_GIVEN).score == 5
    assert score_case(legacy, case(), WA, NOT_GIVEN).score == -1
    assert score_case(legacy, case(), AC, GivenScore(points=2.5)).score == 2.5


def test_points_of_the_static_check() -> None:
    anywhere = group(Subtask(10, Aggregation.SUM))
    assert points_of_static(anywhere, StaticCheck(8), NOT_GIVEN) == 8
    assert points_of_static(anywhere, StaticCheck(8), GivenScore(share=0.25)) == 2
    assert points_of_static(anywhere, StaticCheck(None), NOT_GIVEN) == 0
    with pytest.raises(ScoreFault):
        points_of_static(anywhere, StaticCheck(8), GivenScore(points=9))


@pytest.mark.parametrize(
    ("grading", "result", "expected"),
    [
        (DefaultGrader(), ScoredVerdict(WA, 0), True),
        (DefaultGrader(), ScoredVerdict(AC, 1), False),
        (Subtask(10), ScoredVerdict(WA, 0), True),
        (Subtask(10, Aggregation.SUM), ScoredVerdict(WA, 0), False),
        (Subtask(10, Aggregation.MIN), ScoredVerdict(WA, 0), True),
        (Subtask(10, Aggregation.MIN), ScoredVerdict(AC, 3), False),
        (Subtask(10, Aggregation.SUM), ScoredVerdict(JE, 0), True),
    ],
)
def test_judging_stops_when_the_result_can_not_change(
    grading: DefaultGrader | Subtask, result: ScoredVerdict, expected: bool
) -> None:
    """J3: stop at the first decisive failure unless the problem scores every case."""
    assert stops(group(grading), result) is expected


def test_a_legacy_group_continues_if_stop_at_reject_is_off() -> None:
    """J3."""
    assert not stops(Group("secret", (), stop_at_reject=False), ScoredVerdict(WA, 0))
