"""Submissions as they come: each accepted once, with its job and its event (I1, Q2)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import asyncpg

from deemster.domain.errors import Refused
from deemster.domain.ids import AccountId, ProblemId, SubmissionId
from deemster.domain.submission import Accepted, NewSubmission
from deemster.store.named import statements
from deemster.store.pool import OUTAGES, Connection

SQL = statements("submissions")
MOST_AHEAD: Final = 100
"""Of the waiting ones of a user, so many are told apart in rank."""


class KeyReused(Refused):
    """An idempotency key came with another request (I2)."""

    code = "idempotency_key_reused"


@dataclass(frozen=True, slots=True)
class Arrival:
    new: NewSubmission
    content: bytes | None = None
    """The source if it is small; any other is where it belongs by now."""


Answer = tuple[Accepted, bool]
"""What the request's answer is, and whether it is new."""


async def accept(
    connection: Connection, new: NewSubmission, content: bytes | None = None
) -> Answer:
    (answer,) = await accept_all(connection, [Arrival(new, content)])
    if isinstance(answer, Exception):
        raise answer
    return answer


async def accept_all(
    connection: Connection, arrivals: Sequence[Arrival]
) -> list[Answer | Exception]:
    """By one statement: its cost is shared, and its commit. Answers in the same order."""
    try:
        fresh = await write(connection, arrivals)
    except OUTAGES:
        raise
    except asyncpg.PostgresError as fault:
        if len(arrivals) == 1:
            return [fault]
        # One of them is bad, so none was written: that must not be the others' loss.
        return [(await accept_all(connection, [each]))[0] for each in arrivals]
    return [
        (accepted(each.new, fresh[each.new.id]), True)
        if each.new.id in fresh
        else await earlier(connection, each.new)
        for each in arrivals
    ]


async def write(connection: Connection, arrivals: Sequence[Arrival]) -> dict[str, datetime]:
    """When those came that are new."""
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
    rows = SQL.accept(
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
        most_ahead=MOST_AHEAD,
        keys=[new.idempotency_key for new in news],
        digests=[new.request_digest for new in news],
        webhooks=[new.webhook_url for new in news],
        rejudged=[new.rejudge_of for new in news],
    )
    return {row["id"]: row["submitted_at"] async for row in rows}


def by_key(arrival: Arrival) -> tuple[str, str]:
    return arrival.new.account, arrival.new.idempotency_key or ""


async def earlier(connection: Connection, new: NewSubmission) -> Answer | KeyReused:
    """What was answered to who used the key first (I1)."""
    row = await SQL.of_key(connection, account=new.account, key=new.idempotency_key)
    if row["request_digest"] != new.request_digest:
        return KeyReused(
            "This Idempotency-Key was used before with another request: send the same request "
            "again, or a new key."
        )
    first = Accepted(
        SubmissionId(row["id"]),
        ProblemId(row["problem_id"]),
        row["language"],
        row["submitted_at"],
    )
    return first, False


async def is_key_taken(connection: Connection, account: AccountId, key: str) -> bool:
    return await SQL.of_key(connection, account=account, key=key) is not None


def accepted(new: NewSubmission, submitted_at: datetime) -> Accepted:
    return Accepted(new.id, new.problem, new.language, submitted_at)
