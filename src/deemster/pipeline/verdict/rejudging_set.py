"""Rejudges a set of submissions on trial: no result counts until the set is applied (A9).

The set is written first, then its trials in batches. If its creator dies, the keeper goes on.
Every batch, and what ends the set, locks the set's row.
"""

import secrets
from dataclasses import dataclass
from typing import Final

from deemster.domain.errors import Conflict, NotFound, Refused
from deemster.domain.ids import REJUDGING, SUBMISSION, RejudgingId, SubmissionId, new_id
from deemster.domain.job import PriorityClass
from deemster.domain.lifecycle import Event, State
from deemster.domain.submission import NewSubmission
from deemster.store import audit, rejudgings
from deemster.store.audit import Actor
from deemster.store.lifecycle import advance_all
from deemster.store.notifications import notify_stop
from deemster.store.pool import Connection, Pool, connection, transaction
from deemster.store.rejudgings import (
    MatchedSubmission,
    Rejudging,
    RejudgingFilter,
    RejudgingProgress,
    UnfinishedCounts,
)
from deemster.store.submission_inserts import SubmissionInsert, insert_all

BATCH: Final = 500
MAX_FOUND: Final = 25_000
"""Most submissions in one set: applying it takes a second or two."""
AT_ONCE: Final = 10
"""Most sets that the keeper stages in one round."""


@dataclass(frozen=True, slots=True)
class Overview:
    """A set, its progress, and the submissions that it had to leave out."""

    rejudging: Rejudging
    progress: RejudgingProgress
    under_way: UnfinishedCounts

    @property
    def is_ready(self) -> bool:
        """Whether the set can be applied."""
        is_open = self.rejudging.staged_at is not None and self.rejudging.outcome is None
        return is_open and not self.progress.waiting and not self.progress.running


async def make(
    pool: Pool, wanted: RejudgingFilter, actor: Actor, *, reason: str | None = None
) -> Overview:
    """Creates a set with all its trials."""
    async with transaction(pool) as writing:
        rejudging = await begin(writing, wanted, actor, reason)
    return await stage_all(pool, rejudging)


async def begin(
    writing: Connection, wanted: RejudgingFilter, actor: Actor, reason: str | None
) -> RejudgingId:
    """Writes the set without its trials."""
    if not wanted.document:
        raise Refused(
            "Name the submissions to rejudge, by problem, verdict, ids or another filter."
        )
    matched = len(await rejudgings.find_matching(writing, wanted, limit=MAX_FOUND + 1))
    if not matched:
        waits = describe_unended(await rejudgings.count_unfinished(writing, wanted))
        raise Refused(
            "No submission matches. Only submissions that ended, and were not rejudged "
            f"since, can be rejudged.{waits and ' ' + waits}"
        )
    if matched > MAX_FOUND:
        raise Refused(
            f"More than {MAX_FOUND:,} submissions match: narrow the filter, for example "
            "by time."
        )
    rejudging = RejudgingId(new_id(REJUDGING))
    await rejudgings.add(
        writing, rejudging, wanted, matched=matched, reason=reason, made_by=actor.account
    )
    await audit.record(
        writing,
        actor,
        "rejudging.make",
        rejudging,
        wanted=wanted.document,
        matched=matched,
        reason=reason,
    )
    return rejudging


async def stage_all(pool: Pool, rejudging: RejudgingId) -> Overview:
    """Creates the trials that are missing."""
    while await stage_batch(pool, rejudging):
        pass
    return await overview(pool, rejudging)


async def continue_staging(pool: Pool) -> int:
    """Continues interrupted sets, for the keeper; returns how many there were."""
    async with connection(pool) as acquired:
        found = await rejudgings.list_unstaged(acquired, limit=AT_ONCE)
    for rejudging in found:
        await stage_batch(pool, rejudging)
    return len(found)


async def stage_batch(pool: Pool, rejudging: RejudgingId) -> bool:
    """Returns True if there may be more. Concurrent callers each stage their own batch."""
    async with transaction(pool) as writing:
        locked = await rejudgings.lock(writing, rejudging)
        if locked is None or locked.outcome is not None or locked.staged_at is not None:
            return False
        matches = await rejudgings.find_matching(
            writing,
            RejudgingFilter.of(locked.wanted),
            limit=BATCH,
            after=await rejudgings.last_staged(writing, rejudging),
            ended_by=locked.made_at,
        )
        trials = [SubmissionInsert(trial_of(match, rejudging)) for match in matches]
        for answer in await insert_all(writing, trials) if trials else ():
            if isinstance(answer, Exception):
                raise answer
        if len(matches) < BATCH:
            await rejudgings.mark_staged(writing, rejudging)
            return False
    return True


def trial_of(match: MatchedSubmission, rejudging: RejudgingId) -> NewSubmission:
    return NewSubmission(
        id=SubmissionId(new_id(SUBMISSION)),
        account=match.account,
        problem=match.problem,
        revision=match.revision,
        language=match.language,
        main=match.main,
        source=match.source,
        request_digest=secrets.token_bytes(32),
        webhook_url=match.webhook_url,
        rejudge_of=match.id,
        staged_in=rejudging,
        contest=match.contest,
        priority_class=PriorityClass.REJUDGE,
    )


async def apply(pool: Pool, rejudging: RejudgingId, actor: Actor) -> Overview:
    """Replaces the old submissions by their trials, in one transaction, where possible."""
    async with transaction(pool) as writing:
        locked = await lock_open(writing, rejudging)
        waiting = await rejudgings.count_unfinished_trials(writing, rejudging)
        if locked.staged_at is None or waiting:
            missing = (
                f"{waiting:,} of its trials have not ended" if waiting else "it is not complete"
            )
            raise Conflict(f"{rejudging} cannot be applied yet: {missing}.")
        await rejudgings.apply_trials(writing, rejudging)
        await rejudgings.finish(writing, rejudging, "applied", by=actor.account)
        done = await rejudgings.progress(writing, rejudging)
        await audit.record(
            writing,
            actor,
            "rejudging.apply",
            rejudging,
            applied=done.applied,
            verdicts_changed=done.verdicts_changed,
            left_out=done.trials - done.applied,
        )
    return await overview(pool, rejudging)


async def drop(pool: Pool, rejudging: RejudgingId, actor: Actor) -> Overview:
    """Keeps the old submissions, and cancels trials that have not ended."""
    async with transaction(pool) as writing:
        await lock_open(writing, rejudging)
        unended = await rejudgings.lock_unfinished_trials(writing, rejudging)
        attempts = {trial: attempt for trial, (_, attempt) in unended.items()}
        reason = f"{rejudging} was dropped"
        cancelled = await advance_all(writing, Event.CANCEL, attempts, reason=reason)
        for trial in cancelled:
            if unended[trial][0] is State.RUNNING:
                await notify_stop(writing, trial)
        await rejudgings.finish(writing, rejudging, "dropped", by=actor.account)
        await audit.record(
            writing, actor, "rejudging.drop", rejudging, cancelled=len(cancelled)
        )
    return await overview(pool, rejudging)


async def lock_open(writing: Connection, rejudging: RejudgingId) -> Rejudging:
    """Locks the set, so that only one request applies or drops it."""
    locked = await rejudgings.lock(writing, rejudging)
    if locked is None:
        raise NotFound(f"There is no rejudging {rejudging}.")
    if locked.outcome is not None:
        raise Conflict(f"{rejudging} was already {locked.outcome}.")
    return locked


async def overview(pool: Pool, rejudging: RejudgingId) -> Overview:
    async with connection(pool) as acquired:
        found = await rejudgings.get(acquired, rejudging)
        if found is None:
            raise NotFound(f"There is no rejudging {rejudging}.")
        return Overview(
            found,
            await rejudgings.progress(acquired, rejudging),
            await rejudgings.count_unfinished(acquired, RejudgingFilter.of(found.wanted)),
        )


def describe_unended(under_way: UnfinishedCounts) -> str:
    """Says which matching submissions are not in the set because they have not ended."""
    unended, outdated = under_way.unended, under_way.outdated
    if not unended:
        return ""
    sentence = f"{unended:,} more are waiting or running"
    if not outdated:
        return f"{sentence}, with the test data of the time they were submitted."
    some = "all" if outdated == unended else f"{outdated:,}"
    return (
        f"{sentence}, {some} of them with outdated test data: when they have ended, rejudge "
        "with the filter `outdated`."
    )
