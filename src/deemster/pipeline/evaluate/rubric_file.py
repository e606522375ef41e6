"""Reads a rubric from YAML, strictly; errors name the key and say what to change."""

import hashlib
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Annotated, Final, Self

from pydantic import Field, StringConstraints, model_validator

from deemster.domain.analysis import Category
from deemster.domain.errors import Refused
from deemster.domain.rubric import (
    Condition,
    Criterion,
    FeedbackDepth,
    Question,
    QuestionId,
    Rubric,
)
from deemster.domain.verdict import Verdict
from deemster.pattern_messages import text_form
from deemster.problems.formats.yaml_file import FileModel, checked, mapping_of, parse_yaml
from deemster.programs.build.languages import shipped_directory

MAX_CHARACTERS: Final = 64 * 1024
MAX_QUESTIONS: Final = 40
GENERAL_FILE: Final = "general.yaml"

Slug = Annotated[
    str,
    text_form(
        r"^[a-z][a-z0-9_]{0,39}$",
        "use up to 40 of a-z, 0-9 and _, and begin with a letter",
    ),
]
Locale = Annotated[
    str,
    text_form(
        r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$", "use the code of a language, such as en or pt-BR"
    ),
]
Title = Annotated[str, StringConstraints(min_length=1, max_length=120, strip_whitespace=True)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=500, strip_whitespace=True)]
Weight = Annotated[int, Field(ge=1, le=100, strict=True)]
Share = Annotated[float, Field(ge=0, le=1)]


class ConditionEntry(FileModel):
    verdict: Annotated[list[Verdict], Field(min_length=1)] | None = None
    passed_at_least: Share | None = None
    time_at_most: Share | None = None
    analysis: Category | None = None
    score_at_least: Annotated[int, Field(ge=0, le=100, strict=True)] | None = None

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if not self.model_fields_set:
            raise ValueError(
                "names no fact: add verdict, passed_at_least, time_at_most, or analysis."
            )
        if (self.analysis is None) != (self.score_at_least is None):
            raise ValueError("must have analysis and score_at_least together, or neither.")
        return self

    def to_domain(self) -> Condition:
        return Condition(
            verdicts=frozenset(self.verdict or ()),
            passed_at_least=self.passed_at_least,
            time_at_most=self.time_at_most,
            category=self.analysis,
            score_at_least=self.score_at_least,
        )


class QuestionEntry(FileModel):
    id: Slug
    text: Text
    good: Annotated[bool, Field(strict=True)] = True
    points: Weight = 1
    yes_if: ConditionEntry | None = None
    hints: Annotated[dict[Locale, Text], Field(default_factory=dict)]

    def to_domain(self) -> Question:
        return Question(
            id=QuestionId(self.id),
            text=self.text,
            good=self.good,
            points=self.points,
            yes_if=self.yes_if.to_domain() if self.yes_if else None,
            hints=self.hints,
        )


class CriterionEntry(FileModel):
    id: Slug
    title: Title
    weight: Weight
    questions: Annotated[list[QuestionEntry], Field(min_length=1)]

    def to_domain(self) -> Criterion:
        questions = tuple(question.to_domain() for question in self.questions)
        return Criterion(self.id, self.title, self.weight, questions)


class RubricFile(FileModel):
    title: Title
    feedback: FeedbackDepth = FeedbackDepth.HINTS
    criteria: Annotated[list[CriterionEntry], Field(min_length=1)]

    def to_domain(self) -> Rubric:
        criteria = tuple(criterion.to_domain() for criterion in self.criteria)
        return Rubric(self.title, criteria, self.feedback)


def parse_rubric(text: str, file: str = "The rubric") -> Rubric:
    if len(text) > MAX_CHARACTERS:
        raise Refused(
            f"{file} has {len(text):,} characters, and the limit is {MAX_CHARACTERS:,}: "
            "shorten it."
        )
    values = mapping_of(parse_yaml(text, file), file)
    rubric = checked(RubricFile, values, file).to_domain()
    refuse_duplicates(file, "criterion", (criterion.id for criterion in rubric.criteria))
    refuse_duplicates(file, "question", (question.id for question in rubric.questions))
    count = sum(1 for _ in rubric.questions)
    if count > MAX_QUESTIONS:
        raise Refused(
            f"{file} has {count} questions, and the limit is {MAX_QUESTIONS}: remove some."
        )
    return rubric


def refuse_duplicates(file: str, kind: str, ids: Iterable[str]) -> None:
    for name, count in Counter(ids).items():
        if count > 1:
            raise Refused(f"{file}: the id '{name}' names more than one {kind}: rename one.")


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def shipped_general_rubric() -> str:
    """The YAML of the general rubric that comes with Deemster."""
    return (shipped_directory("rubrics") / GENERAL_FILE).read_text(encoding="utf-8")
