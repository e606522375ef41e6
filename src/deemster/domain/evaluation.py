"""The evaluation of a submission: the facts it starts from, and its result."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import ClassVar

from deemster.domain.analysis import Analysis, Category, Level
from deemster.domain.errors import Unavailable
from deemster.domain.ids import AccountId, ProblemId, SubmissionId
from deemster.domain.model_tier import NOTHING, Micros, TierName
from deemster.domain.rubric import Condition, QuestionId, Rubric, RubricId
from deemster.domain.verdict import Verdict


@dataclass(frozen=True, slots=True)
class FindingFact:
    """A finding of static analysis, without the tool's message: it may quote the program."""

    title: str
    category: Category
    level: Level
    line: int


@dataclass(frozen=True, slots=True)
class AnalysisFacts:
    scores: Mapping[Category, int | None]
    findings: tuple[FindingFact, ...] = ()

    @classmethod
    def of(cls, analysis: Analysis) -> "AnalysisFacts":
        found = [
            FindingFact(rule.title, rule.category, rule.level, finding.region.start_line)
            for rule, finding in analysis.findings()
        ]
        return cls(dict(analysis.scores), tuple(found))


@dataclass(frozen=True, slots=True)
class Facts:
    """What the judge knows about a program; nothing here was written by the student."""

    verdict: Verdict
    passed_cases: int = 0
    total_cases: int = 0
    runtime_ms: int = 0
    limit_ms: int | None = None
    memory_kb: int = 0
    analysis: AnalysisFacts | None = None

    def meet(self, condition: Condition) -> bool | None:
        """None if a fact is missing that the condition needs."""
        held: list[bool | None] = []
        if condition.verdicts:
            held.append(self.verdict in condition.verdicts)
        if condition.passed_at_least is not None:
            share = self.passed_cases / self.total_cases if self.total_cases else None
            held.append(None if share is None else share >= condition.passed_at_least)
        if condition.time_at_most is not None:
            known = self.limit_ms and self.verdict is not Verdict.COMPILE_ERROR
            used = self.runtime_ms / self.limit_ms if known and self.limit_ms else None
            held.append(None if used is None else used <= condition.time_at_most)
        if condition.category is not None:
            score = self.analysis.scores.get(condition.category) if self.analysis else None
            wanted = condition.score_at_least or 0
            held.append(None if score is None else score >= wanted)
        return None if None in held else all(held)


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    submission: SubmissionId
    account: AccountId
    account_name: str
    """Is removed from the program before a model sees it."""
    problem: ProblemId
    language: str
    files: Mapping[str, bytes]
    facts: Facts
    main: str | None = None
    locale: str | None = None
    """Language of the student, such as `de`; None: that of the settings."""
    deadline_s: float = 45.0
    is_last_attempt: bool = False
    """If no model answers, the deterministic rubric is used instead of a later attempt."""


class EvaluationDelayed(Unavailable):
    """No model answered for now; the stage tries again, not before the time that is given."""

    code: ClassVar[str] = "evaluation_delayed"

    def __init__(self, message: str, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Variant(StrEnum):
    PLAIN = "plain"
    """The program as it is, without what identifies a person."""
    NEUTRAL = "neutral"
    """Without comments, and with names and strings that say nothing."""


class Method(StrEnum):
    MODEL = "model"
    DETERMINISTIC = "deterministic"
    """Facts answered the questions that they can answer; no other questions count."""


class Flag(StrEnum):
    """Why a person must look at an evaluation; its score is not used."""

    SCORE_MOVED = "score_moved"
    """The score changes with comments, names and strings of the program."""
    ANSWERS_DISAGREE = "answers_disagree"
    """The model gave different answers to the same questions."""
    CONTRADICTS_FACTS = "contradicts_facts"
    """The model's answers contradict the verdict, the tests or the analysis."""


class WithoutModel(StrEnum):
    """Why the deterministic rubric was used."""

    NOT_CONFIGURED = "not_configured"
    NOT_NEEDED = "not_needed"
    """Facts answer all questions of the rubric."""
    NO_BUDGET = "no_budget"
    NO_REPLY = "no_reply"
    INVALID_REPLY = "invalid_reply"
    TOO_LARGE = "too_large"
    UNREADABLE_SOURCE = "unreadable_source"
    """The program could not be split into tokens, so it could not be neutralised."""


class AnsweredBy(StrEnum):
    FACTS = "facts"
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class Quote:
    """A line of the program that proves an answer."""

    file: int
    """From 1, in the order in which the files were sent."""
    line: int


@dataclass(frozen=True, slots=True)
class Answer:
    question: QuestionId
    answer: bool | None
    """None: the model proved no answer; the question earns nothing."""
    by: AnsweredBy
    quotes: tuple[Quote, ...] = ()


@dataclass(frozen=True, slots=True)
class Hint:
    question: QuestionId
    text: str


@dataclass(frozen=True, slots=True)
class RubricVersion:
    """A version never changes; a change of a rubric is a new version."""

    id: RubricId
    problem: ProblemId | None
    """None: the general rubric."""
    number: int
    digest: str
    rubric: Rubric


@dataclass(frozen=True, slots=True)
class Usage:
    """What the model calls of an evaluation took, all tiers together."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Micros = NOTHING
    latency_ms: int = 0


@dataclass(frozen=True, slots=True)
class Evaluation:
    submission: SubmissionId
    rubric: RubricId
    rubric_number: int
    method: Method
    score: float | None
    """From 0 to 100; None if it is flagged, or if no fact is known."""
    answers: tuple[Answer, ...] = ()
    hints: tuple[Hint, ...] = ()
    locale: str = "en"
    flag: Flag | None = None
    without_model: WithoutModel | None = None
    tier: TierName | None = None
    """The tier whose answers were used or flagged."""
    scores: Mapping[Variant, float] = field(default_factory=dict)
    """The model's score of each variant."""
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class Correction:
    """A score that a teacher set."""

    number: int
    old_score: float | None
    new_score: float
    reason: str
    by: str
    """Name of the teacher's account."""
    at: datetime


@dataclass(frozen=True, slots=True)
class StoredEvaluation:
    evaluation: Evaluation
    evaluated_at: datetime
    corrections: tuple[Correction, ...] = ()

    @property
    def score(self) -> float | None:
        """The score that counts: the last correction, else the computed one."""
        return self.corrections[-1].new_score if self.corrections else self.evaluation.score
