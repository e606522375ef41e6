"""A rubric: weighted criteria with yes/no questions, and how answers become a score."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import NewType

from deemster.domain.analysis import Category
from deemster.domain.verdict import Verdict

QuestionId = NewType("QuestionId", str)
RubricId = NewType("RubricId", str)


class FeedbackDepth(StrEnum):
    """How much a student is told."""

    HINTS = "hints"
    """Hints that do not contain code."""
    SOLUTIONS = "solutions"
    """Also explanations that contain corrected code."""


@dataclass(frozen=True, slots=True)
class Condition:
    """Facts under which the answer to a question is yes; all parts that are set must hold."""

    verdicts: frozenset[Verdict] = frozenset()
    passed_at_least: float | None = None
    """Share of the test cases that must pass, from 0 to 1."""
    time_at_most: float | None = None
    """Share of the time limit that the slowest case may use, from 0 to 1."""
    category: Category | None = None
    """Category of the static analysis that `score_at_least` is about."""
    score_at_least: int | None = None


@dataclass(frozen=True, slots=True)
class Question:
    id: QuestionId
    text: str
    good: bool = True
    """The answer that earns the points: yes (True) or no (False)."""
    points: int = 1
    yes_if: Condition | None = None
    """Set if facts answer the question; then the answer of a model is not used."""
    hints: Mapping[str, str] = field(default_factory=dict)
    """What a student is told who does not earn the points, by language."""


@dataclass(frozen=True, slots=True)
class Criterion:
    id: str
    title: str
    weight: int
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Rubric:
    title: str
    criteria: tuple[Criterion, ...]
    feedback: FeedbackDepth = FeedbackDepth.HINTS

    @property
    def questions(self) -> Iterator[Question]:
        for criterion in self.criteria:
            yield from criterion.questions

    def share(self, wanted: frozenset[QuestionId]) -> Fraction:
        """The part of the whole score that these questions decide."""
        total = sum(criterion.weight for criterion in self.criteria)
        return sum(
            (
                Fraction(criterion.weight * question.points, total * points_of(criterion))
                for criterion in self.criteria
                for question in criterion.questions
                if question.id in wanted
            ),
            Fraction(),
        )


def points_of(criterion: Criterion) -> int:
    return sum(question.points for question in criterion.questions)


def score_all(rubric: Rubric, answers: Mapping[QuestionId, bool | None]) -> float:
    """From 0 to 100. A question without an answer earns nothing."""
    earned = frozenset(
        question.id
        for question in rubric.questions
        if answers.get(question.id) is question.good
    )
    return round(float(100 * rubric.share(earned)), 2)


def score_answered(rubric: Rubric, answers: Mapping[QuestionId, bool]) -> float | None:
    """From 0 to 100, of the questions that have answers alone; None if there is none."""
    kept = tuple(
        Criterion(criterion.id, criterion.title, criterion.weight, answered)
        for criterion in rubric.criteria
        if (answered := tuple(each for each in criterion.questions if each.id in answers))
    )
    return score_all(Rubric(rubric.title, kept), answers) if kept else None
