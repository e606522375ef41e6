"""Frequent statements find their rows by an index."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from deemster.store import (
    accounts,
    counters,
    dead_letters,
    leases,
    outbox,
    rejudgings,
    sessions,
    stats,
    submission_inserts,
    submissions,
)
from deemster.store.pool import Pool, connection, open_pool
from tests.builders import make_problem

FILL = """
INSERT INTO submission (id, account_id, problem_id, revision, language, source, state, attempt,
    priority, request_digest, verdict, runtime_ms, memory_kb, passed_cases, total_cases,
    started_at, finished_at, changed_at, idempotency_key)
SELECT 'sub_' || to_char(n, 'FM00000000'), 'usr_' || n % 500, $1, $2, 'c', 'x',
       CASE WHEN waits THEN 'QUEUED' ELSE 'COMPLETED' END,
       CASE WHEN waits THEN 0 ELSE 1 END, n % 1000 + 1, sha256(n::text::bytea),
       CASE WHEN NOT waits THEN 'Accepted' END, 1, 1, 1, 1,
       CASE WHEN NOT waits THEN now() END, CASE WHEN NOT waits THEN now() END,
       now() - interval '1 hour', 'key' || n
  FROM generate_series(1, 6000) AS n, LATERAL (SELECT n % 3 = 0 AS waits)"""
ACCOUNTS = """
INSERT INTO account (id, name, role) SELECT 'usr_' || n, 'u' || n, 'user'
  FROM generate_series(0, 499) AS n"""
TOKENS = """
INSERT INTO token (id, account_id, name, digest)
SELECT 'tok_' || n, 'usr_' || n, 'x', sha256(n::text::bytea)
  FROM generate_series(0, 499) AS n"""
SESSIONS = """
INSERT INTO session (digest, account_id, expires_at)
SELECT sha256(n::text::bytea), 'usr_' || n, now() + interval '1 day'
  FROM generate_series(0, 499) AS n"""
OUTBOX = """
INSERT INTO outbox (work_id, task, dispatch, attempt, sent_at)
SELECT id, 'run', 1, 0, CASE WHEN id <= 'sub_00005900' THEN now() - interval '1 hour' END
  FROM submission"""
COUNTERS = """
INSERT INTO account_tally (account_id, problem_id, submits, accepted)
SELECT id, $1, 3, 1 FROM account"""
EVENTS = """
INSERT INTO work_event (work_id, event, state, attempt)
SELECT id, 'submit', 'PENDING', 0 FROM submission"""

WEBHOOKS = """
INSERT INTO webhook_delivery (id, work_id, account_id, kind, url, state, ended_at)
SELECT 'whd_' || id, id, account_id, 'x', 'x',
       CASE WHEN right(id, 2) = '00' THEN 'failed' ELSE 'delivered' END, now()
  FROM submission"""


@pytest.fixture
async def full(database_url: str) -> AsyncIterator[Pool]:
    async with open_pool(database_url, name="test") as pool:
        problem = await make_problem(pool)
        async with connection(pool) as acquired:
            await acquired.execute(ACCOUNTS)
            await acquired.execute(TOKENS)
            await acquired.execute(SESSIONS)
            await acquired.execute(FILL, problem.id, problem.digest)
            await acquired.execute(OUTBOX)
            await acquired.execute(EVENTS)
            await acquired.execute(WEBHOOKS)
            await acquired.execute(COUNTERS, problem.id)
            await acquired.execute("ANALYZE")
        yield pool


SOME = "sub_00003000"
NEW_SUBMISSION = [[each] for each in (*["x"] * 7, b"", 1, 0, "x", b"", *["x"] * 4, True, 9)]
PLANS: dict[str, tuple[Any, list[Any], str]] = {
    "one submission": (submissions.SQL.get, [SOME], "submission_pkey"),
    "its place in the queue": (submissions.SQL.count_ahead, [100, SOME], "submission_line"),
    "the submission of a key": (
        submissions.SQL.find_by_key,
        ["usr_7", "key7"],
        "submission_idempotency",
    ),
    "waiting submissions of a user": (
        submission_inserts.SQL.insert_rows,
        [*NEW_SUBMISSION, 30.0, 100],
        "submission_waiting_of_account",
    ),
    "due rows of the outbox": (outbox.SQL.claim, [200, 30.0], "outbox_unsent"),
    "stale leases": (leases.SQL.find_stale, [100], "submission_active"),
    "running submissions": (
        leases.SQL.count_running,
        ["submission", "c", "usr_x"],
        "submission_active",
    ),
    "the head of the queue": (
        submissions.SQL.list_possibly_lost,
        [10.0, 20],
        "submission_line",
    ),
    "events of a submission": (
        dead_letters.SQL.history,
        [SOME],
        "event_of_submission",
    ),
    "trials of a rejudging": (rejudgings.SQL.progress, ["rej_x"], "submission_once_staged"),
    "unfinished submissions": (
        rejudgings.SQL.count_unfinished,
        [*[None] * 7, True],
        "submission_line",
    ),
    "changes by a rejudging": (rejudgings.SQL.verdict_matrix, ["rej_x"], "submission_applied"),
    "counters of an account": (counters.SQL.account_counts, ["usr_7"], "account_tally_pkey"),
    "problems of an account": (
        counters.SQL.tried_problems,
        ["usr_7", ["prob_sum"]],
        "account_tally_pkey",
    ),
    "the account of a token": (
        accounts.SQL.find_by_token_digest,
        [b"x" * 32],
        "token_digest_key",
    ),
    "failed webhooks": (stats.SQL.read_gauges, [30.0], "webhook_failed"),
    "the account of a name": (accounts.SQL.find_by_name, ["U7"], "account_name"),
    "credentials": (accounts.SQL.credentials, ["U7", None], "account_name"),
    "the account of a session": (sessions.SQL.find_account, [b"x" * 32], "session_pkey"),
}


async def test_hot_statements_use_their_index(full: Pool) -> None:
    without_index = {}
    for name, (statement, values, index) in PLANS.items():
        async with connection(full) as acquired:
            rows = await acquired.fetch(f"EXPLAIN {statement.sql}", *values)
        plan = "\n".join(row[0] for row in rows)
        if index not in plan or "Seq Scan on submission" in plan:
            without_index[name] = plan
    assert not without_index, "\n\n".join(
        f"{name}:\n{plan}" for name, plan in without_index.items()
    )


async def test_a_queue_that_was_empty_is_not_read_for_each_submission(
    database_url: str,
) -> None:
    """The planner's statistics are from an empty queue; later rows must not cost more."""
    async with open_pool(database_url, name="test") as pool:
        problem = await make_problem(pool)
        async with connection(pool) as acquired:
            await acquired.execute(ACCOUNTS)
            await acquired.execute(
                FILL.replace("n % 3 = 0", "false"), problem.id, problem.digest
            )
            await acquired.execute("ANALYZE")
            statement = f"EXPLAIN {submission_inserts.SQL.insert_rows.sql}"
            rows = await acquired.fetch(statement, *NEW_SUBMISSION, 30.0, 100)
    plan = "\n".join(row[0] for row in rows)
    assert "submission_waiting_of_account" in plan
    assert "submission_line" not in plan


async def test_keys_are_found_one_by_one_even_by_a_plan_for_an_empty_table(
    database_url: str,
) -> None:
    """Connections keep plans that were made while the table was empty."""
    many = [20 * each for each in NEW_SUBMISSION]
    async with open_pool(database_url, name="test") as pool, connection(pool) as acquired:
        statement = f"EXPLAIN {submission_inserts.SQL.insert_rows.sql}"
        rows = await acquired.fetch(statement, *many, 30.0, 100)
    plan = "\n".join(row[0] for row in rows)
    assert "(idempotency_key = a_1.idempotency_key)" in plan, plan
