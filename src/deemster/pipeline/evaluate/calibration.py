"""Compares the answers of a tier with those of teachers: agreement, kappa, flags and cost."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from deemster.domain.evaluation import Answer, Facts
from deemster.domain.ids import SubmissionId
from deemster.domain.model_tier import NOTHING, BudgetName, Micros, ModelTier
from deemster.domain.rubric import QuestionId, Rubric, score_all
from deemster.pipeline.evaluate.cascade import (
    ModelTask,
    TierResult,
    answers_of_facts,
    ask_tier,
)
from deemster.pipeline.evaluate.paid_calls import Deadline, ModelClient, PaidCalls
from deemster.pipeline.evaluate.policy import Outcome
from deemster.store.model_calls import (
    CallKey,
    OverBudget,
    Reservation,
    Reserved,
    SettledCall,
    StoredReply,
)

DEADLINE_S: Final = 300.0
"""For one example: nobody waits for a stage."""
GRADES: Final = 5
"""The scores are compared as grades, because teachers do not grade in hundredths."""

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Example:
    """A program that a teacher graded."""

    name: str
    files: Mapping[str, bytes]
    language: str
    facts: Facts
    answers: Mapping[QuestionId, bool]
    """The teacher's answers to all questions that facts do not answer."""

    def complete(self, rubric: Rubric) -> dict[QuestionId, bool | None]:
        return {**self.answers, **answers_of_facts(rubric, self.facts)}


@dataclass(slots=True)
class MemoryLedger:
    """Keeps the calls of a calibration within one amount; nothing is stored."""

    budget: Micros
    spent: Micros = NOTHING
    calls: int = 0
    latency_ms: int = 0
    replies: dict[CallKey, str] = field(default_factory=dict)
    reserved: dict[int, Micros] = field(default_factory=dict)

    async def reserve(self, key: CallKey, worst: Micros, *, claim_s: float) -> Reservation:
        if key in self.replies:
            return StoredReply(self.replies[key])
        if self.spent + worst > self.budget:
            return OverBudget(BudgetName.DAY)
        self.calls += 1
        self.spent = Micros(self.spent + worst)
        self.reserved[self.calls] = worst
        return Reserved(self.calls)

    async def settle(self, key: CallKey, reserved: Reserved, result: SettledCall) -> None:
        worst = self.reserved.pop(reserved.id)
        self.spent = Micros(self.spent - worst + result.cost)
        self.latency_ms += result.latency_ms
        if result.content is not None:
            self.replies[key] = result.content


@dataclass(frozen=True, slots=True)
class TierCalibration:
    tier: str
    examples: int
    scored: int
    """Examples whose score would be used."""
    outcomes: Mapping[Outcome, int]
    """How many examples ended in each outcome."""
    answers: int
    """Answers of the model that were compared with the teacher's."""
    agreement: float | None
    """Share of these answers that are the same; None if there is none."""
    kappa: float | None
    """Cohen's kappa of these answers; None if both only ever gave one answer."""
    score_kappa: float | None
    """Cohen's kappa of the scores as grades, with quadratic weights."""
    mean_error: float | None
    """Mean distance of the scores, in points of 100."""
    cost: Micros
    latency_ms: int
    """Mean time of a call."""


async def calibrate_tier(
    client: ModelClient,
    tier: ModelTier,
    tasks: Sequence[tuple[Example, ModelTask]],
    ledger: MemoryLedger,
) -> TierCalibration:
    before = ledger.spent, ledger.calls, ledger.latency_ms
    found = [
        (example, await ask_tier(task, tier, PaidCalls(client, ledger, deadline())))
        for example, task in tasks
    ]
    spent, calls, latency_ms = before
    usable = [each for each in found if each[1].outcome is Outcome.AGREED]
    pairs = [pair for each in usable for pair in answer_pairs(*each)]
    scores = [
        score_pair(example, task.rubric, result)
        for (example, task), (_, result) in zip(tasks, found, strict=True)
        if result.outcome is Outcome.AGREED
    ]
    asked = ledger.calls - calls
    return TierCalibration(
        tier=tier.name,
        examples=len(tasks),
        scored=len(usable),
        outcomes=dict(Counter(result.outcome for _, result in found)),
        answers=len(pairs),
        agreement=share_equal(pairs),
        kappa=kappa(pairs),
        score_kappa=weighted_kappa([(grade(a), grade(b)) for a, b in scores], GRADES),
        mean_error=sum(abs(a - b) for a, b in scores) / len(scores) if scores else None,
        cost=Micros(ledger.spent - spent),
        latency_ms=round((ledger.latency_ms - latency_ms) / asked) if asked else 0,
    )


def deadline() -> Deadline:
    return Deadline.after(DEADLINE_S)


def answer_pairs(example: Example, result: TierResult) -> list[tuple[bool, bool | None]]:
    """The teacher's answer and the model's, for each question that facts do not answer."""
    given: dict[QuestionId, Answer] = {each.question: each for each in result.answers}
    return [(answer, given[question].answer) for question, answer in example.answers.items()]


def score_pair(example: Example, rubric: Rubric, result: TierResult) -> tuple[float, float]:
    model = {each.question: each.answer for each in result.answers}
    return score_all(rubric, example.complete(rubric)), score_all(rubric, model)


def grade(score: float) -> int:
    return min(int(score * GRADES / 100), GRADES - 1)


def share_equal(pairs: Sequence[tuple[object, object]]) -> float | None:
    return sum(a == b for a, b in pairs) / len(pairs) if pairs else None


def kappa(pairs: Sequence[tuple[T, T]]) -> float | None:
    """Cohen's kappa: 1 for full agreement, 0 for agreement by chance; None if undefined."""
    if not pairs:
        return None
    count = len(pairs)
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    observed = sum(a == b for a, b in pairs) / count
    by_chance = sum(first[each] * second[each] for each in first) / count**2
    return None if by_chance == 1 else (observed - by_chance) / (1 - by_chance)


def weighted_kappa(pairs: Sequence[tuple[int, int]], grades: int) -> float | None:
    """Cohen's kappa with quadratic weights, for grades from 0 to `grades` - 1."""
    if not pairs:
        return None
    count = len(pairs)
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    observed = sum((a - b) ** 2 for a, b in pairs) / count
    by_chance = sum(
        (a - b) ** 2 * first[a] * second[b] for a in range(grades) for b in range(grades)
    )
    return None if by_chance == 0 else 1 - observed * count**2 / by_chance


def example_submission(number: int) -> SubmissionId:
    """Names an example in the keys of its calls."""
    return SubmissionId(f"example-{number}")
