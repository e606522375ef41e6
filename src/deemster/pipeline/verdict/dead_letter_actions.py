"""Requeues or discards dead letters for admins, each once, and keeps their history (Q7)."""

from typing import Final

from deemster.domain.errors import Conflict, NotFound
from deemster.domain.ids import AnalysisId, SubmissionId, WorkId, kind_of
from deemster.domain.job import Task
from deemster.domain.submission import AcceptedSubmission
from deemster.pipeline.verdict.rejudge import replace
from deemster.store import analyses, audit, dead_letters
from deemster.store.audit import Actor
from deemster.store.dead_letters import DeadLetter
from deemster.store.pool import Connection

ACTS: Final = {"requeued": "requeue", "discarded": "discard"}
REASONS: Final = {
    Task.EXECUTE: "an execution, which is not repeated: its user can run the program again.",
    Task.EVALUATE: "the evaluation of a submission that has ended: rejudge the submission.",
    Task.FINALIZE: (
        "the last stage of a submission that has its verdict: only the statistics of its "
        "problem do not count it."
    ),
}
"""Why dead letters of these tasks can't be requeued."""


async def requeue(
    connection: Connection, number: int, *, actor: Actor
) -> AcceptedSubmission | AnalysisId:
    """Creates a new submission that replaces the failed one, or repeats a failed analysis."""
    found = await open_dead_letter(connection, number)
    if found.task in REASONS:
        raise Conflict(f"Dead letter {number} is {REASONS[found.task]} Discard it.")
    if found.task is Task.RUN:
        accepted = await replace(connection, SubmissionId(found.work))
        await settle(connection, found, "requeued", actor, accepted.id)
        return accepted
    analysis = await repeat_analysis(connection, found)
    await settle(connection, found, "requeued", actor, analysis)
    return analysis


async def repeat_analysis(connection: Connection, failed: DeadLetter) -> AnalysisId:
    """The result is added to the program that has ended."""
    details = None
    if failed.task is Task.ANALYZE_LATER:
        details = await analyses.request_details(connection, failed.work)
    subject = details.subject if details is not None else SubmissionId(failed.work)
    analysis = await analyses.request(connection, subject)
    if analysis is None:
        raise Conflict(f"{subject} is being analysed already.")
    return analysis


async def discard(connection: Connection, number: int, *, actor: Actor) -> None:
    await settle(connection, await open_dead_letter(connection, number), "discarded", actor)


async def open_dead_letter(connection: Connection, number: int) -> DeadLetter:
    found = await dead_letters.get(connection, number)
    if found is None:
        raise NotFound(f"There is no dead letter {number}.")
    if found.outcome is not None:
        raise Conflict(f"Dead letter {number} was already {found.outcome}.")
    return found


async def settle(
    connection: Connection,
    dead_letter: DeadLetter,
    outcome: str,
    actor: Actor,
    new_id: WorkId | None = None,
) -> None:
    done = await dead_letters.resolve(
        connection, dead_letter.id, outcome, by=actor.name, requeued_as=new_id
    )
    if not done:
        raise Conflict(
            f"Dead letter {dead_letter.id} was handled by another admin at the same time."
        )
    details = {kind_of(dead_letter.work): dead_letter.work} | (
        {"new": new_id} if new_id else {}
    )
    await audit.record(
        connection, actor, f"dead_letter.{ACTS[outcome]}", str(dead_letter.id), **details
    )
