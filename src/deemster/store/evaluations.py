"""Evaluations of submissions, and the corrections of their scores by teachers."""

from collections.abc import Mapping
from typing import Any

from deemster.domain.evaluation import (
    Answer,
    AnsweredBy,
    Correction,
    Evaluation,
    Flag,
    Hint,
    Method,
    Quote,
    StoredEvaluation,
    Usage,
    Variant,
    WithoutModel,
)
from deemster.domain.ids import AccountId, SubmissionId
from deemster.domain.model_tier import Micros
from deemster.domain.rubric import QuestionId, RubricId
from deemster.store.pool import Connection, statements

SQL = statements("evaluations")


async def add(connection: Connection, evaluation: Evaluation) -> None:
    """Does nothing if the submission has an evaluation already."""
    usage = evaluation.usage
    await SQL.add(
        connection,
        submission=evaluation.submission,
        rubric=evaluation.rubric,
        method=evaluation.method,
        score=evaluation.score,
        flag=evaluation.flag,
        without_model=evaluation.without_model,
        tier=evaluation.tier,
        locale=evaluation.locale,
        details=details_of(evaluation),
        calls=usage.calls,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost_micros=usage.cost,
        latency_ms=usage.latency_ms,
    )


async def get(connection: Connection, submission: SubmissionId) -> StoredEvaluation | None:
    row = await SQL.get(connection, submission=submission)
    if row is None:
        return None
    rows = SQL.corrections(connection, submission=submission)
    corrections = tuple([Correction(**each) async for each in rows])
    return StoredEvaluation(evaluation_from_row(row), row["evaluated_at"], corrections)


async def correct(
    connection: Connection,
    submission: SubmissionId,
    score: float,
    reason: str,
    by: AccountId,
) -> StoredEvaluation | None:
    """Call it in a transaction. Returns None if the submission has no evaluation."""
    await SQL.lock(connection, submission=submission)
    stored = await get(connection, submission)
    if stored is None:
        return None
    await SQL.correct(
        connection,
        submission=submission,
        number=len(stored.corrections) + 1,
        old_score=stored.score,
        new_score=score,
        reason=reason,
        account=by,
    )
    return await get(connection, submission)


async def count_flagged(connection: Connection) -> int:
    """How many evaluations wait for a person."""
    return int(await SQL.count_flagged(connection))


def details_of(evaluation: Evaluation) -> dict[str, Any]:
    return {
        "answers": [
            {
                "question": each.question,
                "answer": each.answer,
                "by": each.by,
                "quotes": [[quote.file, quote.line] for quote in each.quotes],
            }
            for each in evaluation.answers
        ],
        "hints": [[each.question, each.text] for each in evaluation.hints],
        "scores": dict(evaluation.scores),
    }


def evaluation_from_row(row: Mapping[str, Any]) -> Evaluation:
    details = row["details"]
    return Evaluation(
        submission=SubmissionId(row["submission_id"]),
        rubric=RubricId(row["rubric_id"]),
        rubric_number=row["rubric_number"],
        method=Method(row["method"]),
        score=row["score"],
        answers=tuple(answer_from(each) for each in details["answers"]),
        hints=tuple(Hint(QuestionId(question), text) for question, text in details["hints"]),
        locale=row["locale"],
        flag=Flag(row["flag"]) if row["flag"] else None,
        without_model=WithoutModel(row["without_model"]) if row["without_model"] else None,
        tier=row["tier"],
        scores={Variant(name): score for name, score in details["scores"].items()},
        usage=Usage(
            calls=row["calls"],
            input_tokens=row["input_tokens"],
            output_tokens=row["output_tokens"],
            cost=Micros(row["cost_micros"]),
            latency_ms=row["latency_ms"],
        ),
    )


def answer_from(stored: Mapping[str, Any]) -> Answer:
    return Answer(
        QuestionId(stored["question"]),
        stored["answer"],
        AnsweredBy(stored["by"]),
        tuple(Quote(file, line) for file, line in stored["quotes"]),
    )
