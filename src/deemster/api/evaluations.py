"""Reads the evaluation of a submission for those who may see it."""

from deemster.api.app_state import AppState
from deemster.api.lookups import known_submission, may_see, teaches, unknown_submission
from deemster.api.models.evaluations import EvaluationOut, evaluation_out
from deemster.domain.account import Account
from deemster.domain.evaluation import StoredEvaluation
from deemster.pipeline.evaluate.rubric_file import parse_rubric
from deemster.store import evaluations, rubrics
from deemster.store.pool import Connection, connection


async def read_evaluation(
    state: AppState, caller: Account, submission: str
) -> EvaluationOut | None:
    """None: the submission has no evaluation, or not yet."""
    async with connection(state.pool) as reading:
        view = await known_submission(reading, caller, submission)
        is_teacher = await teaches(reading, caller, view)
        if not (is_teacher or may_see(caller, view.account)):
            raise unknown_submission()
        stored = await evaluations.get(reading, view.id)
        if stored is None:
            return None
        return await shown_evaluation(reading, stored, for_teacher=is_teacher)


async def shown_evaluation(
    reading: Connection, stored: StoredEvaluation, *, for_teacher: bool
) -> EvaluationOut:
    version = await rubrics.get(reading, stored.evaluation.rubric)
    assert version is not None, "versions of rubrics are never deleted"
    return evaluation_out(stored, parse_rubric(version.yaml), for_teacher=for_teacher)
