"""Inserts new submissions, each once, with its job and its event (I1, Q2)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import asyncpg

from deemster.domain.errors import LimitReached, Refused
from deemster.domain.ids import AccountId, ProblemId, SubmissionId
from deemster.domain.job import MAX_AHEAD, count_ahead
from deemster.domain.submission import AcceptedSubmission, NewSubmission
from deemster.store.idempotency_keys import KeyReused
from deemster.store.pool import OUTAGES, Connection, statements

SQL = statements("submissions")


class TooSoon(LimitReached):
    """The user's last submission for this problem is too recent (D2)."""

    code = "too_soon"


class QuotaUsed(LimitReached):
    """The user has reached the daily quota (D2)."""

    code = "quota_spent"


@dataclass(frozen=True, slots=True)
class SubmissionInsert:
    new: NewSubmission
    content: bytes | None = None
    """The source if it is small; a large one is in the artifact store already."""
    is_paced: bool = False
    """Whether the interval between two submissions of a user for a problem applies."""
    quota: int | None = None
    """How many the user may submit per day."""


InsertResult = tuple[AcceptedSubmission, bool]
"""The submission, and whether it is new; False: the key had been used for it before."""


async def insert(
    connection: Connection, new: NewSubmission, content: bytes | None = None
) -> InsertResult:
    (answer,) = await insert_all(connection, [SubmissionInsert(new, content)])
    if isinstance(answer, Exception):
        raise answer
    return answer


async def insert_all(
    connection: Connection, requests: Sequence[SubmissionInsert], *, interval_s: float = 0.0
) -> list[InsertResult | Exception]:
    """Inserts all with one statement and one commit; returns results in the same order."""
    try:
        inserted = await insert_rows(connection, requests, interval_s)
    except OUTAGES:
        raise
    except asyncpg.PostgresError as fault:
        if len(requests) == 1:
            return [fault]
        # One is invalid, so none was written: try each by itself.
        return [
            (await insert_all(connection, [each], interval_s=interval_s))[0]
            for each in requests
        ]
    if None in inserted.values():
        same = [each for each in requests if inserted.get(each.new.id, True) is None]
        await return_quota(connection, same)
    return [
        (accepted(each.new, at), True)
        if (at := inserted.get(each.new.id)) is not None
        else await explain_missing(connection, each, interval_s)
        for each in requests
    ]


async def insert_rows(
    connection: Connection, requests: Sequence[SubmissionInsert], interval_s: float
) -> dict[str, datetime | None]:
    """Returns the times of those that were admitted; None: another just took its key."""
    # Always in the same order: two statements with the same keys would deadlock otherwise.
    ordered = sorted(
        requests, key=lambda each: (each.new.account, each.new.idempotency_key or "")
    )
    news = [each.new for each in ordered]
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
        ahead=count_ahead(new.account for new in news),
        max_ahead=MAX_AHEAD,
        keys=[new.idempotency_key for new in news],
        digests=[new.request_digest for new in news],
        webhooks=[new.webhook_url for new in news],
        rejudged=[new.rejudge_of for new in news],
        staged=[new.staged_in for new in news],
        contests=[new.contest for new in news],
        paced=[each.is_paced for each in ordered],
        quotas=[each.quota for each in ordered],
        heng_keys=[new.heng.access_key if new.heng else None for new in news],
        heng_updates=[new.heng.update_url if new.heng else None for new in news],
        heng_messages=[new.heng.message_bytes if new.heng else None for new in news],
        interval_s=interval_s,
    )
    return {row["id"]: row["submitted_at"] async for row in rows}


async def return_quota(connection: Connection, counted: Sequence[SubmissionInsert]) -> None:
    """Several requests with one key were counted, but only one was inserted."""
    accounts = Counter(each.new.account for each in counted if each.quota is not None)
    for account, count in accounts.items():
        await SQL.return_quota(connection, account=account, count=count)


async def explain_missing(
    connection: Connection, request: SubmissionInsert, interval_s: float
) -> InsertResult | Refused:
    """Returns why a request was not inserted, or what its key was used for before."""
    found = await check_request(connection, request, interval_s)
    return found if found is not None else too_soon(request.new.problem, 0.0)


async def check_request(
    connection: Connection, request: SubmissionInsert, interval_s: float
) -> InsertResult | Refused | None:
    """Returns the refusal or replay that a request would get now; None: it can be inserted."""
    new = request.new
    row = await SQL.find_by_key(connection, account=new.account, key=new.idempotency_key)
    if row is not None:
        return replay_of(row, new.request_digest)
    left = await allowance(connection, new.account, new.problem, interval_s)
    if request.quota is not None and left.today >= request.quota:
        return QuotaUsed(
            f"You have used your {request.quota} submissions of today: go on tomorrow (UTC).",
            left.day_left_s,
            limit=request.quota,
        )
    return too_soon(new.problem, left.wait_s) if request.is_paced and left.wait_s else None


def too_soon(problem: ProblemId, wait_s: float) -> TooSoon:
    wait_s = max(wait_s, 1.0)
    return TooSoon(
        f"You submitted to {problem} a moment ago: try again in {wait_s:.0f} s.",
        wait_s,
        limit=1,
    )


async def find_replay(
    connection: Connection, account: AccountId, key: str, digest: bytes
) -> InsertResult | None:
    """Returns what the key was used for before; None: the key is new (I1, I2)."""
    row = await SQL.find_by_key(connection, account=account, key=key)
    answer = replay_of(row, digest) if row is not None else None
    if isinstance(answer, KeyReused):
        raise answer
    return answer


def replay_of(row: Mapping[str, Any], digest: bytes) -> InsertResult | KeyReused:
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
    """Until the next submission for the problem."""
    today: int
    """Submissions since midnight UTC."""
    day_left_s: float


async def allowance(
    connection: Connection, account: AccountId, problem: ProblemId, interval_s: float
) -> Allowance:
    row = await SQL.allowance(
        connection, account=account, problem=problem, interval_s=interval_s
    )
    return Allowance(row["wait_s"] or 0.0, row["today"], row["day_left_s"])


async def forget_interval(connection: Connection, submission: SubmissionId) -> None:
    """The submission uses up no interval: its program was not tried."""
    await SQL.forget_interval(connection, id=submission)


async def trim(connection: Connection) -> None:
    await SQL.trim_days(connection)


async def is_key_taken(connection: Connection, account: AccountId, key: str) -> bool:
    return await SQL.find_by_key(connection, account=account, key=key) is not None


def accepted(new: NewSubmission, submitted_at: datetime) -> AcceptedSubmission:
    return AcceptedSubmission(new.id, new.problem, new.language, submitted_at)
