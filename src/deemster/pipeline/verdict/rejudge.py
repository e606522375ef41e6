"""Rejudges one submission: a new one replaces it, and the old verdict stays readable (A9)."""

import secrets

from deemster.domain.errors import Conflict, NotFound
from deemster.domain.ids import (
    SUBMISSION,
    AccountId,
    ProblemId,
    SubmissionId,
    new_id,
)
from deemster.domain.job import PriorityClass, Task
from deemster.domain.lifecycle import IN_STAGE, Event, State
from deemster.domain.submission import AcceptedSubmission, NewSubmission
from deemster.domain.verdict import Verdict
from deemster.store import audit, counters
from deemster.store.audit import Actor
from deemster.store.lifecycle import advance
from deemster.store.pool import Connection
from deemster.store.problems import get
from deemster.store.stages import uncount_scores
from deemster.store.submission_inserts import insert
from deemster.store.submissions import archive


async def rejudge(
    connection: Connection, submission: SubmissionId, *, actor: Actor | None = None
) -> AcceptedSubmission:
    accepted = await replace(connection, submission)
    if actor is not None:
        await audit.record(connection, actor, "submission.rejudge", submission, new=accepted.id)
    return accepted


async def replace(connection: Connection, submission: SubmissionId) -> AcceptedSubmission:
    """Uses the current test data. The old submission no longer counts."""
    old = await archive(connection, submission)
    if old is None:
        raise Conflict(
            f"{submission} cannot be rejudged: it does not exist, has not ended, is a "
            "trial of a rejudging, or was rejudged before."
        )
    problem = ProblemId(old["problem_id"])
    summary = await get(connection, problem)
    if summary is None:
        raise NotFound(f"The problem {problem} no longer exists.")
    if State(old["state"]) in IN_STAGE:
        # Nobody reads what its stages would add.
        await advance(
            connection,
            Event.COMPLETE,
            submission,
            old["attempt"],
            in_stage=Task(old["stages"][0]),
            reason="rejudged",
        )
    await uncount_scores(connection, submission)
    account = AccountId(old["account_id"])
    new = NewSubmission(
        id=SubmissionId(new_id(SUBMISSION)),
        account=account,
        problem=problem,
        revision=summary.digest,
        language=old["language"],
        main=old["main"],
        source=old["source"],
        request_digest=secrets.token_bytes(32),
        webhook_url=old["webhook_url"],
        rejudge_of=submission,
        contest=old["contest_id"],
        priority_class=PriorityClass.REJUDGE,
    )
    accepted, _ = await insert(connection, new)
    if old["verdict"] is not None:
        await counters.count_verdict(
            connection, account, problem, Verdict(old["verdict"]), sign=-1
        )
    return accepted
