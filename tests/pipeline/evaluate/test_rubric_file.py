"""Rubrics are checked strictly; the message names the key and says what to change."""

import pytest

from deemster.domain.errors import Refused
from deemster.domain.evaluation import AnalysisFacts, Facts
from deemster.domain.rubric import QuestionId, score_all, score_answered
from deemster.domain.verdict import Verdict
from deemster.pipeline.evaluate.cascade import answers_of_facts
from deemster.pipeline.evaluate.rubric_file import parse_rubric, shipped_general_rubric
from tests.pipeline.evaluate.conftest import RUBRIC


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("weight: 1", "wieght: 1", "wieght' is not known"),
        ("weight: 1", "weight: 0", "criteria.0.weight"),
        ("good: no", "good: maybe", "criteria.1.questions.1.good"),
        ("id: split", "id: passes", "'passes' names more than one question"),
        ("id: split", "id: Split it", "questions.0.id"),
        ("verdict: [Accepted]", "verdict: [Fine]", "yes_if.verdict"),
        ("{verdict: [Accepted]}", "{}", "names no fact"),
        ("{verdict: [Accepted]}", "{analysis: style}", "together"),
        ("title: Rubric for tests", "", "'title' is missing"),
        ("    text: Does it pass?", "    question: Does it pass?", "question' is not known"),
        ("criteria:", "criteria: [", "not valid YAML"),
    ],
)
def test_a_mistake_is_refused_with_its_place(old: str, new: str, message: str) -> None:
    with pytest.raises(Refused, match=message):
        parse_rubric(RUBRIC.replace(old, new, 1))


def test_a_rubric_with_too_many_questions_is_refused() -> None:
    more = "".join(f"      - {{id: q{number}, text: Why}}\n" for number in range(40))
    with pytest.raises(Refused, match="43 questions"):
        parse_rubric(RUBRIC + more)


def test_criteria_share_the_score_by_weight_and_questions_by_points() -> None:
    rubric = parse_rubric(RUBRIC.replace("weight: 1", "weight: 3", 1))
    passes, split, repeats = (question.id for question in rubric.questions)
    assert score_all(rubric, {passes: True, split: True, repeats: False}) == 100
    assert score_all(rubric, {passes: True, split: False, repeats: True}) == 75
    assert score_all(rubric, {passes: False, split: True, repeats: None}) == 18.75
    assert score_all(rubric, {}) == 0


def test_questions_without_answers_are_left_out_of_a_deterministic_score() -> None:
    rubric = parse_rubric(RUBRIC)
    assert score_answered(rubric, {QuestionId("passes"): True}) == 100
    assert score_answered(rubric, {}) is None


def test_p3_the_shipped_rubric_is_valid_and_facts_answer_much_of_it() -> None:
    rubric = parse_rubric(shipped_general_rubric())
    scores = {"correctness": 100, "style": 100, "complexity": 50, "security": None}
    facts = Facts(
        Verdict.ACCEPTED,
        *(3, 3),
        runtime_ms=600,
        limit_ms=1000,
        analysis=AnalysisFacts(scores),  # type: ignore[arg-type]
    )
    known = answers_of_facts(rubric, facts)
    assert known == {
        "passes_all_tests": True,
        "passes_half_of_tests": True,
        "within_half_of_limit": False,
        "low_complexity": False,
        "no_suspicious_code": True,
        "clean_style": True,
    }
    assert rubric.share(frozenset(known)) > 0.5
    assert all({"en", "de"} <= set(question.hints) for question in rubric.questions)


def test_facts_that_are_missing_answer_nothing() -> None:
    rubric = parse_rubric(shipped_general_rubric())
    known = answers_of_facts(rubric, Facts(Verdict.COMPILE_ERROR))
    assert known == {"passes_all_tests": False}
