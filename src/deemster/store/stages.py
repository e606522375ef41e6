"""Reads submissions for the stages after their verdict, and counts the stages' results."""

from dataclasses import dataclass

from deemster.domain.ids import ProblemId, SubmissionId
from deemster.domain.job import Task
from deemster.domain.stage import StageDetails
from deemster.domain.verdict import Verdict
from deemster.store.pool import Connection, statements
from deemster.store.submissions import work_columns

SQL = statements("stages")


async def stage_details(
    connection: Connection, submission: SubmissionId
) -> StageDetails | None:
    row = await SQL.stage_details(connection, id=submission)
    if row is None:
        return None
    return StageDetails(
        **work_columns(row),
        verdict=Verdict(row["verdict"]) if row["verdict"] else None,
        stages=tuple(map(Task, row["stages"] or ())),
        stage_tries=row["stage_tries"],
        is_leased=row["is_leased"],
    )


async def count_scores(connection: Connection, submission: SubmissionId) -> None:
    """Counts the scores of a finished submission for its problem, once (I3). If a trial has
    replaced it meanwhile, copies the analysis to that, and counts it there (A9).
    """
    await SQL.lock(connection, id=submission)
    while (successor := await SQL.copy_to_successor(connection, id=submission)) is not None:
        submission = SubmissionId(successor)
    await SQL.count_scores(connection, id=submission)


async def awaits_analysis(connection: Connection, submission: SubmissionId) -> bool:
    """Whether an earlier submission, which this one replaced, is in a stage, and will pass its
    analysis on when `count_scores` is called for it.
    """
    return bool(await SQL.awaits_analysis(connection, id=submission))


async def uncount_scores(connection: Connection, submission: SubmissionId) -> None:
    """Undoes it for a submission that was replaced."""
    await SQL.uncount_scores(connection, id=submission)


@dataclass(frozen=True, slots=True)
class ScoreSum:
    category: str
    analyzed: int
    """How many submissions have a score in this category."""
    points: int

    @property
    def mean(self) -> float:
        return self.points / self.analyzed


async def score_sums(connection: Connection, problem: ProblemId) -> list[ScoreSum]:
    return [ScoreSum(**row) async for row in SQL.score_sums(connection, problem=problem)]


async def find_mismatches(connection: Connection) -> list[tuple[str, str]]:
    """Sums that differ from the analyses, by problem and category."""
    return [tuple(row.values()) async for row in SQL.find_mismatches(connection)]
