"""Rejudges a set on trial: nothing counts, and nobody hears of it, until it is applied (A9).

The set is written first, its trials in batches: whoever made it goes on, and the keeper does
where that one died. Every batch, and what ends the set, holds the set's row.
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
from deemster.store.notifications import say_stop
from deemster.store.pool import Connection, Pool, connection, transaction
from deemster.store.rejudgings import Match, Progress, Rejudging, UnderWay, Wanted
from deemster.store.submission_inserts import KeyReused, SubmissionInsert, accept_all

BATCH: Final = 500
MOST: Final = 25_000
"""In one set: so many are compared at a glance, and applied in a second or two."""
AT_ONCE: Final = 10
"""Sets that are looked after at once."""


@dataclass(frozen=True, slots=True)
class Overview:
    """A set, how far it is, and what it had to leave out."""

    rejudging: Rejudging
    progress: Progress
    under_way: UnderWay

    @property
    def is_ready(self) -> bool:
        """It can be applied."""
        is_open = self.rejudging.staged_at is not None and self.rejudging.outcome is None
        return is_open and not self.progress.waiting and not self.progress.running


async def make(
    pool: Pool,
    wanted: Wanted,
    actor: Actor,
    *,
    reason: str | None = None,
    key: str | None = None,
) -> Overview:
    """With all its trials. The same key goes on where an earlier try died (I1)."""
    if not wanted.document:
        raise Refused("Say which submissions: by a problem, a verdict, ids, and so on.")
    found = await earlier(pool, wanted, actor, reason, key)
    if found is None:
        found = await begin(pool, wanted, actor, reason, key)
    if found is None:  # another with this key was faster
        found = await earlier(pool, wanted, actor, reason, key)
    assert found is not None, "sets are never deleted"
    while await stage_batch(pool, found.id):
        pass
    return await overview(pool, found.id)


async def earlier(
    pool: Pool, wanted: Wanted, actor: Actor, reason: str | None, key: str | None
) -> Rejudging | None:
    if key is None or actor.account is None:
        return None
    async with connection(pool) as acquired:
        found = await rejudgings.of_key(acquired, actor.account, key)
    if found is not None and (found.wanted, found.reason) != (wanted.document, reason):
        raise KeyReused
    return found


async def begin(
    pool: Pool, wanted: Wanted, actor: Actor, reason: str | None, key: str | None
) -> Rejudging | None:
    """The set without its trials; None: someone has just used the key."""
    rejudging = RejudgingId(new_id(REJUDGING))
    async with transaction(pool) as writing:
        matched = len(await rejudgings.matching(writing, wanted, most=MOST + 1))
        if not matched:
            waits = under_way_told(await rejudgings.under_way(writing, wanted))
            raise Refused(
                "No submission is like that: those count that were judged, or failed, and were "
                f"not judged again since.{waits and ' ' + waits}"
            )
        if matched > MOST:
            raise Refused(
                f"More than {MOST:,} submissions are like that: narrow it, as by times."
            )
        added = await rejudgings.add(
            writing,
            rejudging,
            wanted,
            matched=matched,
            reason=reason,
            made_by=actor.account,
            key=key,
        )
        if not added:
            return None
        await audit.note(
            writing,
            actor,
            "rejudging.make",
            rejudging,
            wanted=wanted.document,
            matched=matched,
            reason=reason,
        )
        return await rejudgings.one(writing, rejudging)


async def stage_on(pool: Pool) -> int:
    """The keeper's part: trials of sets whose maker died; how many sets had some to make."""
    async with connection(pool) as acquired:
        found = await rejudgings.unstaged(acquired, most=AT_ONCE)
    for rejudging in found:
        await stage_batch(pool, rejudging)
    return len(found)


async def stage_batch(pool: Pool, rejudging: RejudgingId) -> bool:
    """True: there may be more. Several may do this at once, each a batch of its own."""
    async with transaction(pool) as writing:
        locked = await rejudgings.lock(writing, rejudging)
        if locked is None or locked.outcome is not None or locked.staged_at is not None:
            return False
        matches = await rejudgings.matching(
            writing,
            Wanted.of(locked.wanted),
            most=BATCH,
            after=await rejudgings.last_staged(writing, rejudging),
            ended_by=locked.made_at,
        )
        trials = [SubmissionInsert(trial_of(match, rejudging)) for match in matches]
        for answer in await accept_all(writing, trials) if trials else ():
            if isinstance(answer, Exception):
                raise answer
        if len(matches) < BATCH:
            await rejudgings.mark_staged(writing, rejudging)
            return False
    return True


def trial_of(match: Match, rejudging: RejudgingId) -> NewSubmission:
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
    """Trials take the places of the old ones, all at once; those that can't stay out."""
    async with transaction(pool) as writing:
        locked = await lock_open(writing, rejudging)
        waiting = await rejudgings.unended(writing, rejudging)
        if locked.staged_at is None or waiting:
            missing = (
                f"{waiting:,} of its trials have not ended" if waiting else "it is not whole"
            )
            raise Conflict(f"{rejudging} can't be applied yet: {missing}.")
        await rejudgings.put_in_place(writing, rejudging)
        await rejudgings.settle(writing, rejudging, "applied", by=actor.account)
        done = await rejudgings.progress(writing, rejudging)
        await audit.note(
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
    """All stays as it was; trials that have not ended are cancelled."""
    async with transaction(pool) as writing:
        await lock_open(writing, rejudging)
        unended = await rejudgings.lock_unended(writing, rejudging)
        attempts = {trial: attempt for trial, (_, attempt) in unended.items()}
        reason = f"{rejudging} was dropped"
        cancelled = await advance_all(writing, Event.CANCEL, attempts, reason=reason)
        await rejudgings.drop_leases(writing, list(cancelled))
        for trial in cancelled:
            if unended[trial][0] is State.RUNNING:
                await say_stop(writing, trial)
        await rejudgings.settle(writing, rejudging, "dropped", by=actor.account)
        await audit.note(writing, actor, "rejudging.drop", rejudging, cancelled=len(cancelled))
    return await overview(pool, rejudging)


async def lock_open(writing: Connection, rejudging: RejudgingId) -> Rejudging:
    """Of all who would apply or drop it, one gets it."""
    locked = await rejudgings.lock(writing, rejudging)
    if locked is None:
        raise NotFound(f"There is no rejudging {rejudging}.")
    if locked.outcome is not None:
        raise Conflict(f"{rejudging} was {locked.outcome} already.")
    return locked


async def overview(pool: Pool, rejudging: RejudgingId) -> Overview:
    async with connection(pool) as acquired:
        found = await rejudgings.one(acquired, rejudging)
        if found is None:
            raise NotFound(f"There is no rejudging {rejudging}.")
        return Overview(
            found,
            await rejudgings.progress(acquired, rejudging),
            await rejudgings.under_way(acquired, Wanted.of(found.wanted)),
        )


def under_way_told(under_way: UnderWay) -> str:
    """In a sentence, for whoever would think that the set is all; empty: it is."""
    unended, outdated = under_way.unended, under_way.outdated
    if not unended:
        return ""
    told = f"{unended:,} more wait or run"
    if not outdated:
        return f"{told}: they are judged by the test data that they came with."
    some = "judged" if outdated == unended else f"{outdated:,} of them"
    return (
        f"{told}, {some} by other test data than is in force: when they have ended, judge "
        "again what is `outdated`."
    )
