"""Request and response models of evaluations and their corrections."""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from deemster.api.models.field_types import RequestModel, ResponseModel
from deemster.domain.evaluation import (
    Answer,
    AnsweredBy,
    Correction,
    Flag,
    Method,
    StoredEvaluation,
    Variant,
    WithoutModel,
)
from deemster.domain.model_tier import amount_of
from deemster.domain.rubric import Rubric
from deemster.pattern_messages import NO_NUL, text_form

Score = Annotated[float, Field(ge=0, le=100)]
Reason = Annotated[str, text_form(NO_NUL, min_length=1, max_length=1000, strip_whitespace=True)]


class CorrectionIn(RequestModel):
    score: Score
    reason: Reason
    """Is shown to the student and to teachers."""


class CorrectionOut(ResponseModel):
    old_score: float | None
    score: float
    reason: str
    at: datetime
    by: str | None = None
    """Name of the teacher's account. Only teachers see it."""


class QuotedLine(ResponseModel):
    file: int
    """Number of the file, from 1: the main file, then the others by name."""
    line: int


class AnswerOut(ResponseModel):
    criterion: str
    question: str
    """Id of the question in the rubric."""
    text: str
    answer: str | None
    """`yes`, `no`, or null if the model proved no answer."""
    earned: bool
    """Whether the answer earns the points of the question."""
    answered_by: AnsweredBy
    lines: list[QuotedLine]
    """Lines of the program that prove the answer."""


class FeedbackOut(ResponseModel):
    question: str
    text: str


class UsageOut(ResponseModel):
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float
    """In the currency of the tiers' prices."""
    latency_ms: int
    """Time of all calls together."""


class EvaluationOut(ResponseModel):
    submission_id: str
    rubric_id: str
    rubric_version: int
    method: Method
    """`deterministic` if facts alone answered: verdict, tests and static analysis."""
    without_model: WithoutModel | None
    """Why no model answered; null if one did."""
    score: float | None
    """From 0 to 100: the last correction, else the computed score. null if it is flagged."""
    flagged: bool
    """Whether a teacher must look: the computed score is not used."""
    answers: list[AnswerOut]
    feedback: list[FeedbackOut]
    language: str
    """Language of the feedback."""
    evaluated_at: datetime
    corrections: list[CorrectionOut]
    """Scores that teachers set, oldest first."""
    flag: Flag | None = None
    """Why it is flagged. Only teachers see this and the fields below."""
    computed_score: float | None = None
    scores: dict[Variant, float] | None = None
    """The model's score of the program as it is, and neutralised."""
    tier: str | None = None
    usage: UsageOut | None = None


def evaluation_out(
    stored: StoredEvaluation, rubric: Rubric, *, for_teacher: bool
) -> EvaluationOut:
    found = stored.evaluation
    answers = found.answers
    if found.flag is not None and not for_teacher:
        answers = tuple(each for each in answers if each.by is AnsweredBy.FACTS)
    fields: dict[str, Any] = {
        "submission_id": found.submission,
        "rubric_id": found.rubric,
        "rubric_version": found.rubric_number,
        "method": found.method,
        "without_model": found.without_model,
        "score": stored.score,
        "flagged": found.flag is not None and not stored.corrections,
        "answers": list(answers_out(answers, rubric)),
        "feedback": [
            FeedbackOut(question=each.question, text=each.text) for each in found.hints
        ],
        "language": found.locale,
        "evaluated_at": stored.evaluated_at,
        "corrections": [
            correction_out(each, for_teacher=for_teacher) for each in stored.corrections
        ],
    }
    if for_teacher:
        usage = found.usage
        fields |= {
            "flag": found.flag,
            "computed_score": found.score,
            "scores": dict(found.scores),
            "tier": found.tier,
            "usage": UsageOut(
                calls=usage.calls,
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cost=float(amount_of(usage.cost)),
                latency_ms=usage.latency_ms,
            ),
        }
    return EvaluationOut.model_validate(fields)


def answers_out(answers: tuple[Answer, ...], rubric: Rubric) -> Iterator[AnswerOut]:
    given = {each.question: each for each in answers}
    for criterion in rubric.criteria:
        for question in criterion.questions:
            answer = given.get(question.id)
            if answer is None:
                continue
            words = {True: "yes", False: "no", None: None}
            yield AnswerOut(
                criterion=criterion.id,
                question=question.id,
                text=question.text,
                answer=words[answer.answer],
                earned=answer.answer is question.good,
                answered_by=answer.by,
                lines=[QuotedLine(file=each.file, line=each.line) for each in answer.quotes],
            )


def correction_out(correction: Correction, *, for_teacher: bool) -> CorrectionOut:
    fields: dict[str, Any] = {
        "old_score": correction.old_score,
        "score": correction.new_score,
        "reason": correction.reason,
        "at": correction.at,
    }
    if for_teacher:
        fields["by"] = correction.by
    return CorrectionOut.model_validate(fields)
