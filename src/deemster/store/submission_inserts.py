"""Submissions as they come: each accepted once, with its job and its event (I1, Q2)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import asyncpg

from deemster.domain.errors import LimitReached, Refused
from deemster.domain.ids import AccountId, ProblemId, SubmissionId
from deemster.domain.submission import AcceptedSubmission, NewSubmission
from deemster.store.pool import OUTAGES, Connection
from deemster.store.queries import statements

SQL = statements("submissions")
MAX_AHEAD: Final = 100
"""Of the waiting ones of a user, so many are told apart in rank."""


class KeyReused(Refused):
    """An idempotency key came with another request (I2)."""

    code = "idempotency_key_reused"

    def __init__(
        self,
        message: str = "This Idempotency-Key was used before with another request: send the "
        "same request again, or a new key.",
    ) -> None:
        super().__init__(message)


class TooSoon(LimitReached):
    """The last one for this problem was a moment ago (D2)."""

    code = "too_soon"


class QuotaUsed(LimitReached):
    """As many as may come on a day came (D2)."""

    code = "quota_spent"


@dataclass(frozen=True, slots=True)
class SubmissionInsert:
    new: NewSubmission
    content: bytes | None = None
    """The source if it is small; any other is where it belongs by now."""
    is_paced: bool = False
    """It must keep the interval after the last one of its user for its problem."""
    quota: int | None = None
    """Most of its user on a day."""


InsertResult = tuple[AcceptedSubmission, bool]
"""What the request's answer is, and whether it is new."""


async def insert(
    connection: Connection, new: NewSubmission, content: bytes | None = None
) -> InsertResult:
    (answer,) = await insert_all(connection, [SubmissionInsert(new, content)])
    if isinstance(answer, Exception):
        raise answer
    return answer


async def insert_all(
    connection: Connection, arrivals: Sequence[SubmissionInsert], *, interval_s: float = 0.0
) -> list[InsertResult | Exception]:
    """By one statement: its cost is shared, and its commit. Answers in the same order."""
    try:
        fresh = await insert_rows(connection, arrivals, interval_s)
    except OUTAGES:
        raise
    except asyncpg.PostgresError as fault:
        if len(arrivals) == 1:
            return [fault]
        # One of them is bad, so none was written: that must not be the others' loss.
        return [
            (await insert_all(connection, [each], interval_s=interval_s))[0]
            for each in arrivals
        ]
    if None in fresh.values():
        same = [each for each in arrivals if fresh.get(each.new.id, True) is None]
        await return_quota(connection, same)
    return [
        (accepted(each.new, at), True)
        if (at := fresh.get(each.new.id)) is not None
        else await explain_missing(connection, each, interval_s)
        for each in arrivals
    ]


async def insert_rows(
    connection: Connection, arrivals: Sequence[SubmissionInsert], interval_s: float
) -> dict[str, datetime | None]:
    """When those came that are new; None: it was let in, but its key was taken meanwhile."""
    # In one order everywhere: two of these that wait for each other's keys would be deadlocked.
    ordered = sorted(
        arrivals, key=lambda each: (each.new.account, each.new.idempotency_key or "")
    )
    news = [each.new for each in ordered]
    of_account: Counter[AccountId] = Counter()
    ahead = []
    for new in news:
        ahead.append(of_account[new.account])
        of_account[new.account] += 1
    rows = SQL.insert_rows(
        connection,
        ids=[new.id for new in news],
        accounts=[new.account for new in news],
        problems=[new.problem for new in news],
        revisions=[new.revision for new in news],
        languages=[new.language for new in news],
        mains=[new.main for new in news],
        sources=[new.source for new in news],
        contents=[each.content for each in ordered],
        first_priorities=[new.first_priority for new in news],
        ahead=ahead,
        max_ahead=MAX_AHEAD,
        keys=[new.idempotency_key for new in news],
        digests=[new.request_digest for new in news],
        webhooks=[new.webhook_url for new in news],
        rejudged=[new.rejudge_of for new in news],
        staged=[new.staged_in for new in news],
        contests=[new.contest for new in news],
        paced=[each.is_paced for each in ordered],
        quotas=[each.quota for each in ordered],
        interval_s=interval_s,
    )
    return {row["id"]: row["submitted_at"] async for row in rows}


async def return_quota(connection: Connection, counted: Sequence[SubmissionInsert]) -> None:
    """To the quota of their users: of several that came with one key at once, one was made."""
    accounts = Counter(each.new.account for each in counted if each.quota is not None)
    for account, count in accounts.items():
        await SQL.return_quota(connection, account=account, count=count)


async def explain_missing(
    connection: Connection, arrival: SubmissionInsert, interval_s: float
) -> InsertResult | Refused:
    """What to answer to one that was not written: why not, or what came first."""
    found = await check_request(connection, arrival, interval_s)
    return found if found is not None else too_soon(arrival.new.problem, 0.0)


async def check_request(
    connection: Connection, arrival: SubmissionInsert, interval_s: float
) -> InsertResult | Refused | None:
    """What it would be answered now if it can't be taken in; None: it can."""
    new = arrival.new
    row = await SQL.find_by_key(connection, account=new.account, key=new.idempotency_key)
    if row is not None:
        return replay_of(row, new.request_digest)
    left = await allowance(connection, new.account, new.problem, interval_s)
    if arrival.quota is not None and left.today >= arrival.quota:
        return QuotaUsed(
            f"You may hand in {arrival.quota} a day, and have: go on tomorrow (UTC).",
            left.day_left_s,
            limit=arrival.quota,
        )
    return too_soon(new.problem, left.wait_s) if arrival.is_paced and left.wait_s else None


def too_soon(problem: ProblemId, wait_s: float) -> TooSoon:
    wait_s = max(wait_s, 1.0)
    return TooSoon(
        f"You handed in for {problem} just now: try again in {wait_s:.0f} s.", wait_s, limit=1
    )


async def find_replay(
    connection: Connection, account: AccountId, key: str, digest: bytes
) -> InsertResult | None:
    """What a request was answered when it came first; None: the key is new (I1, I2)."""
    row = await SQL.find_by_key(connection, account=account, key=key)
    answer = replay_of(row, digest) if row is not None else None
    if isinstance(answer, KeyReused):
        raise answer
    return answer


def replay_of(row: Mapping[str, Any], digest: bytes) -> InsertResult | KeyReused:
    """What was answered to who used the key first (I1)."""
    if row["request_digest"] != digest:
        return KeyReused()
    first = AcceptedSubmission(
        SubmissionId(row["id"]),
        ProblemId(row["problem_id"]),
        row["language"],
        row["submitted_at"],
    )
    return first, False


@dataclass(frozen=True, slots=True)
class Allowance:
    wait_s: float
    """Until the next one for the problem."""
    today: int
    """Handed in since midnight, UTC."""
    day_left_s: float


async def allowance(
    connection: Connection, account: AccountId, problem: ProblemId, interval_s: float
) -> Allowance:
    row = await SQL.allowance(
        connection, account=account, problem=problem, interval_s=interval_s
    )
    return Allowance(row["wait_s"] or 0.0, row["today"], row["day_left_s"])


async def trim(connection: Connection) -> None:
    await SQL.trim_days(connection)


async def is_key_taken(connection: Connection, account: AccountId, key: str) -> bool:
    return await SQL.find_by_key(connection, account=account, key=key) is not None


def accepted(new: NewSubmission, submitted_at: datetime) -> AcceptedSubmission:
    return AcceptedSubmission(new.id, new.problem, new.language, submitted_at)
