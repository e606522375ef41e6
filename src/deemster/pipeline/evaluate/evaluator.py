"""Evaluates a submission once: by models, or from facts if no model can be used."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import structlog

from deemster.domain.evaluation import (
    Answer,
    AnsweredBy,
    Evaluation,
    EvaluationDelayed,
    EvaluationRequest,
    Method,
    RubricVersion,
    Variant,
    WithoutModel,
)
from deemster.domain.ids import ProblemId
from deemster.domain.language import Catalogue, Language
from deemster.domain.model_tier import ModelTier, amount_of
from deemster.domain.rubric import score_answered
from deemster.pipeline.evaluate.cascade import (
    CascadeResult,
    ModelTask,
    answers_of_facts,
    run_cascade,
)
from deemster.pipeline.evaluate.feedback import write_hints
from deemster.pipeline.evaluate.paid_calls import (
    TASK_TYPE,
    DatabaseLedger,
    Deadline,
    ModelClient,
    PaidCalls,
)
from deemster.pipeline.evaluate.policy import POLICY, AfterOutcome
from deemster.pipeline.evaluate.program_variants import (
    PreparedProgram,
    ordered_files,
    prepare,
    readable,
)
from deemster.pipeline.evaluate.rubric_file import (
    digest_of,
    parse_rubric,
    shipped_general_rubric,
)
from deemster.programs.tokenizer import TokenizeFailed, Tokenizer
from deemster.store import evaluations, model_calls, model_tiers, rubrics
from deemster.store.pool import Connection, Pool, connection, transaction
from deemster.store.rubrics import NewRubric, StoredRubric
from deemster.telemetry import id_field

log = structlog.get_logger()

MARGIN_S: Final = 5.0
"""Time of the deadline that is kept for writing the result."""
MIN_RETRY_S: Final = 1.0
SHIPPED: Final = "Deemster (shipped)"
"""Creator of the shipped rubric; no account can have this name."""
LOCALE: Final = re.compile(r"[a-z]{2,3}(-[A-Za-z]{2,4})?")


class EvaluateService:
    def __init__(
        self,
        pool: Pool,
        tokenizer: Tokenizer,
        catalogue: Catalogue,
        client: ModelClient,
        *,
        locale: str = "en",
    ) -> None:
        self._pool = pool
        self._tokenizer = tokenizer
        self._catalogue = catalogue
        self._client = client
        self._locale = locale

    async def evaluate(self, request: EvaluationRequest) -> Evaluation:
        """Returns the stored evaluation if there is one; `record` stores a new one. Raises
        `EvaluationDelayed` if no model answers for now and this is not the last attempt."""
        deadline = Deadline.after(max(0.0, request.deadline_s - MARGIN_S))
        async with connection(self._pool) as reading:
            stored = await evaluations.get(reading, request.submission)
            tiers = await model_tiers.list_tiers(reading)
        if stored is not None:
            return stored.evaluation
        async with transaction(self._pool) as writing:
            version = await rubric_in_force(writing, request.problem)
        return await self._evaluate(request, version, tiers, deadline)

    async def record(self, writing: Connection, evaluation: Evaluation) -> str:
        """Stores the evaluation, unless the submission has one; returns the result in a word.
        The caller owns the transaction."""
        await evaluations.add(writing, evaluation)
        result = evaluation.flag or evaluation.without_model or "scored"
        log.info(
            "evaluation.finished",
            **id_field(evaluation.submission),
            taskType=TASK_TYPE,
            rubric=evaluation.rubric,
            method=evaluation.method,
            tier=evaluation.tier,
            latencyMs=evaluation.usage.latency_ms,
            cost=float(amount_of(evaluation.usage.cost)),
            result=result,
        )
        return str(result)

    async def _evaluate(
        self,
        request: EvaluationRequest,
        version: RubricVersion,
        tiers: Sequence[ModelTier],
        deadline: Deadline,
    ) -> Evaluation:
        if not tiers:
            return self._from_facts(request, version, WithoutModel.NOT_CONFIGURED)
        known = answers_of_facts(version.rubric, request.facts)
        if all(question.id in known for question in version.rubric.questions):
            return self._from_facts(request, version, WithoutModel.NOT_NEEDED)
        size_bytes = sum(map(len, request.files.values()))
        if size_bytes > max(tier.max_source_bytes for tier in tiers):
            return self._from_facts(request, version, WithoutModel.TOO_LARGE)
        language = self._catalogue.named(request.language)
        try:
            programs = await prepare_variants(
                self._tokenizer,
                language,
                request.files,
                main=request.main,
                account_name=request.account_name,
            )
        except TokenizeFailed:
            return self._from_facts(request, version, WithoutModel.UNREADABLE_SOURCE)
        task = ModelTask(
            submission=request.submission,
            version=version,
            facts=request.facts,
            programs=programs,
            language=language.name,
            locale=self._locale_of(request),
        )
        calls = PaidCalls(self._client, DatabaseLedger(self._pool, request.account), deadline)
        found = await run_cascade(task, tiers, calls, is_last_attempt=request.is_last_attempt)
        return await self._conclude(request, task, found)

    async def _conclude(
        self, request: EvaluationRequest, task: ModelTask, found: CascadeResult
    ) -> Evaluation:
        result, reaction = found.result, POLICY[found.result.outcome]
        if found.step is AfterOutcome.LATER:
            raise EvaluationDelayed(
                f"No model answered (the tier {found.tier.name}: {result.outcome}).",
                max(result.retry_after_s, MIN_RETRY_S),
            )
        async with connection(self._pool) as reading:
            usage = await model_calls.usage(reading, task.submission, task.version.id)
        if found.step is AfterOutcome.FALL_BACK:
            facts = self._from_facts(request, task.version, reaction.without_model)
            return replace(facts, usage=usage)
        is_used = found.step is AfterOutcome.USE
        # Answers that are flagged are not told to the student, so there are no hints.
        hints = write_hints(
            task.rubric,
            result.answers if is_used else (),
            result.hints,
            locale=task.locale,
            default_locale=self._locale,
        )
        return Evaluation(
            submission=request.submission,
            rubric=task.version.id,
            rubric_number=task.version.number,
            method=Method.MODEL,
            score=result.scores[Variant.PLAIN] if is_used else None,
            answers=result.answers,
            hints=hints,
            locale=task.locale,
            flag=None if is_used else reaction.flag,
            tier=found.tier.name,
            scores=result.scores,
            usage=usage,
        )

    def _from_facts(
        self, request: EvaluationRequest, version: RubricVersion, reason: WithoutModel
    ) -> Evaluation:
        known = answers_of_facts(version.rubric, request.facts)
        answers = tuple(
            Answer(question, answer, AnsweredBy.FACTS) for question, answer in known.items()
        )
        locale = self._locale_of(request)
        return Evaluation(
            submission=request.submission,
            rubric=version.id,
            rubric_number=version.number,
            method=Method.DETERMINISTIC,
            score=score_answered(version.rubric, known),
            answers=answers,
            hints=write_hints(
                version.rubric, answers, {}, locale=locale, default_locale=self._locale
            ),
            locale=locale,
            without_model=reason,
        )

    def _locale_of(self, request: EvaluationRequest) -> str:
        # A client may name its language, and models read it: it must be no sentence.
        given = request.locale or ""
        return given if LOCALE.fullmatch(given) else self._locale


async def rubric_in_force(writing: Connection, problem: ProblemId) -> RubricVersion:
    """The rubric for a problem; without any, the shipped one, which is stored then."""
    stored = await rubrics.in_force(writing, problem)
    if stored is None or (stored.created_by == SHIPPED and stored.problem is None):
        yaml = shipped_general_rubric()
        # A new release may ship a new version.
        if stored is None or stored.digest != digest_of(yaml):
            title = parse_rubric(yaml).title
            new = NewRubric(None, digest_of(yaml), title, yaml, created_by=SHIPPED)
            stored, _ = await rubrics.add(writing, new)
    return version_of(stored)


def version_of(stored: StoredRubric) -> RubricVersion:
    rubric = parse_rubric(stored.yaml)
    return RubricVersion(stored.id, stored.problem, stored.number, stored.digest, rubric)


async def prepare_variants(
    tokenizer: Tokenizer,
    language: Language,
    files: Mapping[str, bytes],
    *,
    main: str | None = None,
    account_name: str = "",
) -> Mapping[Variant, PreparedProgram]:
    tokens = [
        await tokenizer.tokens(language.lexer, readable(files[name]))
        for name in ordered_files(files, main)
    ]
    return {variant: prepare(variant, tokens, account_name) for variant in Variant}
