"""Asks the tiers, the cheapest first, until the policy uses a score, flags it or gives up."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from deemster.domain.evaluation import Answer, AnsweredBy, Facts, RubricVersion, Variant
from deemster.domain.ids import SubmissionId
from deemster.domain.model_tier import ModelTier
from deemster.domain.rubric import FeedbackDepth, QuestionId, Rubric, score_all
from deemster.pipeline.evaluate.paid_calls import PaidCalls, Stopped
from deemster.pipeline.evaluate.policy import AfterOutcome, Outcome, react
from deemster.pipeline.evaluate.program_variants import PreparedProgram
from deemster.pipeline.evaluate.prompt import Prompt, mark_of, with_repair, write_prompt
from deemster.pipeline.evaluate.reply import InvalidReply, ModelAnswers, read_reply
from deemster.store.model_calls import CallKey

MAX_UNPROVED: Final = Fraction(1, 5)
"""Largest part of the score that may hang on answers without evidence."""


@dataclass(frozen=True, slots=True)
class ModelTask:
    """What the models are asked."""

    submission: SubmissionId
    version: RubricVersion
    facts: Facts
    programs: Mapping[Variant, PreparedProgram]
    language: str
    locale: str

    @property
    def rubric(self) -> Rubric:
        return self.version.rubric

    @property
    def known(self) -> dict[QuestionId, bool]:
        return answers_of_facts(self.rubric, self.facts)

    @property
    def size_bytes(self) -> int:
        plain = self.programs[Variant.PLAIN]
        return sum(len(line.encode()) + 1 for file in plain.files for line in file.lines)

    def prompt(self, variant: Variant) -> Prompt:
        return write_prompt(
            self.rubric,
            self.facts,
            self.programs[variant],
            language=self.language,
            locale=self.locale,
            mark=mark_of(self.submission, self.version.digest),
        )


def answers_of_facts(rubric: Rubric, facts: Facts) -> dict[QuestionId, bool]:
    """Answers to the questions that facts can answer."""
    met = {
        question.id: facts.meet(question.yes_if)
        for question in rubric.questions
        if question.yes_if is not None
    }
    return {question: answer for question, answer in met.items() if answer is not None}


@dataclass(frozen=True, slots=True)
class TierResult:
    outcome: Outcome
    scores: Mapping[Variant, float] = field(default_factory=dict)
    answers: tuple[Answer, ...] = ()
    """About the neutral variant, with the answers of facts."""
    hints: Mapping[QuestionId, str] = field(default_factory=dict)
    """What the model wrote for the student."""
    retry_after_s: float = 0.0


@dataclass(frozen=True, slots=True)
class CascadeResult:
    step: AfterOutcome
    tier: ModelTier
    result: TierResult


async def run_cascade(
    task: ModelTask, tiers: Sequence[ModelTier], calls: PaidCalls, *, is_last_attempt: bool
) -> CascadeResult:
    """`tiers` are sorted, and there is at least one."""
    for tier in tiers:
        result = await ask_tier(task, tier, calls)
        step = react(
            result.outcome, is_last_tier=tier is tiers[-1], is_last_attempt=is_last_attempt
        )
        if step is not AfterOutcome.NEXT_TIER:
            return CascadeResult(step, tier, result)
    raise AssertionError("the policy ends at the last tier")


async def ask_tier(task: ModelTask, tier: ModelTier, calls: PaidCalls) -> TierResult:
    if task.size_bytes > tier.max_source_bytes:
        return TierResult(Outcome.TOO_LARGE)
    samples: dict[Variant, list[ModelAnswers]] = {variant: [] for variant in Variant}
    for number in range(tier.answers):
        async with asyncio.TaskGroup() as group:
            asked = {
                variant: group.create_task(sample(task, tier, variant, number, calls))
                for variant in Variant
            }
        for variant, asking in asked.items():
            found = asking.result()
            if isinstance(found, Stopped):
                return TierResult(found.outcome, retry_after_s=found.retry_after_s)
            samples[variant].append(found)
    return judge_samples(task, samples)


async def sample(
    task: ModelTask, tier: ModelTier, variant: Variant, number: int, calls: PaidCalls
) -> ModelAnswers | Stopped:
    """One answer of a model about one variant, with one repair attempt if it is invalid."""
    prompt = task.prompt(variant)
    for repair in (0, 1):
        key = CallKey(
            task.submission, task.version.id, variant, tier.name, 2 * number + 1 + repair
        )
        content = await calls.ask(key, tier, prompt)
        if isinstance(content, Stopped):
            return content
        reply = read_reply(content, task.rubric, task.programs[variant])
        if not isinstance(reply, InvalidReply):
            return check_sample(task, reply) or reply
        prompt = with_repair(prompt, content, reply.faults)
    return Stopped(Outcome.INVALID)


def check_sample(task: ModelTask, reply: ModelAnswers) -> Stopped | None:
    known = task.known
    if any(reply[question].answer is not answer for question, answer in known.items()):
        return Stopped(Outcome.CONTRADICTED)
    unproved = frozenset(
        question
        for question, answer in reply.items()
        if question not in known and not answer.quotes
    )
    if task.rubric.share(unproved) > MAX_UNPROVED:
        return Stopped(Outcome.INVALID)
    return None


def judge_samples(
    task: ModelTask, samples: Mapping[Variant, Sequence[ModelAnswers]]
) -> TierResult:
    known = task.known
    proved = {
        variant: [answers_of(known, reply) for reply in replies]
        for variant, replies in samples.items()
    }
    scores = {
        variant: score_all(task.rubric, answers[0]) for variant, answers in proved.items()
    }
    told = Variant.NEUTRAL  # no text of the student could influence it
    if task.rubric.feedback is FeedbackDepth.SOLUTIONS:
        told = Variant.PLAIN
    return TierResult(
        outcome=compare(proved, scores),
        scores=scores,
        answers=tuple(merged(task, samples[Variant.NEUTRAL][0])),
        hints={question: each.hint for question, each in samples[told][0].items()},
    )


def compare(
    proved: Mapping[Variant, Sequence[Mapping[QuestionId, bool | None]]],
    scores: Mapping[Variant, float],
) -> Outcome:
    if any(other != answers[0] for answers in proved.values() for other in answers):
        return Outcome.DISAGREED
    if scores[Variant.PLAIN] != scores[Variant.NEUTRAL]:
        return Outcome.SCORE_MOVED
    return Outcome.AGREED


def answers_of(
    known: Mapping[QuestionId, bool], reply: ModelAnswers
) -> dict[QuestionId, bool | None]:
    """Facts count more than the model; an answer without evidence is discarded."""
    own = {question: each.answer if each.quotes else None for question, each in reply.items()}
    return {**own, **known}


def merged(task: ModelTask, reply: ModelAnswers) -> Iterable[Answer]:
    known = task.known
    for question, answer in answers_of(known, reply).items():
        if question in known:
            yield Answer(question, answer, AnsweredBy.FACTS)
        else:
            yield Answer(question, answer, AnsweredBy.MODEL, reply[question].quotes)
