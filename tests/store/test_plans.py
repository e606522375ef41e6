"""Frequent statements find their rows by an index."""

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from deemster.store import (
    accounts,
    code_sessions,
    counters,
    dead_letters,
    executions,
    host_workers,
    judge_hosts,
    leases,
    model_calls,
    outbox,
    problems,
    rejudgings,
    remote_tasks,
    sessions,
    similarity,
    stages,
    stats,
    submission_inserts,
    submissions,
)
from deemster.store.pool import Pool, connection, open_pool, transaction
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
SELECT id, 'submission:run', 1, 0,
       CASE WHEN id <= 'sub_00005900' THEN now() - interval '1 hour' END
  FROM submission"""
COUNTERS = """
INSERT INTO account_tally (account_id, problem_id, submits, accepted)
SELECT id, $1, 3, 1 FROM account"""
EVENTS = """
INSERT INTO work_event (work_id, event, state, attempt)
SELECT id, 'submit', 'PENDING', 0 FROM submission"""

RUBRIC = """
INSERT INTO rubric (id, number, digest, title, yaml, created_by)
VALUES ('rub_x', 1, repeat('0', 64), 'x', 'x', 'x')"""
MODEL_CALLS = """
INSERT INTO model_call (submission_id, rubric_id, variant, tier, number, account_id,
    reserved_micros, charged_micros, state, content, settled_at)
SELECT id, 'rub_x', 'plain', 'a', 1, account_id, 0, 1, 'answered', '', now() FROM submission"""
MODEL_SPEND = """
INSERT INTO model_spend (day, account_id, micros)
SELECT current_date - days, id, 1 FROM account, generate_series(1, 30) AS days"""

EXECUTIONS = """
INSERT INTO work (id, kind, account_id, language, state, attempt, priority, request_digest,
    started_at, finished_at)
SELECT 'exe_' || to_char(n, 'FM00000000'), 'execution', 'usr_' || n % 500, 'c',
       CASE WHEN runs THEN 'RUNNING' ELSE 'COMPLETED' END, 1, n % 100 + 1,
       sha256(n::text::bytea), now(),
       CASE WHEN NOT runs THEN now() - n * interval '1 minute' END
  FROM generate_series(1, 3000) AS n, LATERAL (SELECT n % 100 = 0 AS runs)"""
CODE_SESSIONS = """
INSERT INTO code_session (id, account_id, language, source, version)
SELECT 'ses_' || to_char(n, 'FM00000000'), 'usr_' || n % 500, 'c', 'x', 1
  FROM generate_series(1, 1000) AS n"""
DETAILS = """
INSERT INTO execution (work_id, session_id, files, limits)
SELECT id, 'ses_' || to_char(substr(id, 5)::int % 900 + 1, 'FM00000000'), 'x', '{}'
  FROM work WHERE kind = 'execution'"""
OUTPUT = """
INSERT INTO execution_output (work_id, attempt, number, stream, at_ms, content)
SELECT id, 1, number, 1, 0, 'x' FROM work, generate_series(1, 3) AS number
 WHERE kind = 'execution'"""
INPUT = """
INSERT INTO execution_input (work_id, kind, content, key)
SELECT id, 'data', 'x', 'k' FROM work WHERE kind = 'execution'"""
WEBHOOKS = """
INSERT INTO webhook_delivery (id, work_id, account_id, kind, url, state, ended_at)
SELECT 'whd_' || id, id, account_id, 'x', 'x',
       CASE WHEN right(id, 2) = '00' THEN 'failed' ELSE 'delivered' END, now()
  FROM submission"""

PROGRAMS = """
INSERT INTO similarity_program (submission_id, problem_id, lexer, algorithm, files,
    fingerprints, compared_at)
SELECT id, problem_id, CASE WHEN id < 'sub_00000300' THEN 'cpp' ELSE 'python' END, 1, '{}', 'x',
       now()
  FROM submission WHERE state = 'COMPLETED' AND id < 'sub_00005900'"""
PAIRS = """
INSERT INTO similarity_pair (left_id, right_id, problem_id, left_share, right_share, symbols,
    regions)
SELECT l.submission_id, r.submission_id, l.problem_id, 900, 900, 99, '[]'
  FROM similarity_program l, similarity_program r
 WHERE l.submission_id < r.submission_id AND l.submission_id < 'sub_00000300'
   AND r.submission_id < 'sub_00000600'"""
PROBLEMS = """
INSERT INTO problem (id, revision, sort_title, words, tags)
SELECT 'prob_' || n, repeat('a', 64), 'title ' || n, array_to_tsvector(ARRAY['word' || n, 'x']),
       ARRAY['tag' || n % 300]
  FROM generate_series(1, 3000) AS n;
INSERT INTO problem_revision (problem_id, digest, number, title, time_ms, memory_bytes,
    source_bytes, cases, details)
SELECT id, revision, 1, id, 1, 1, 1, 1, '{}' FROM problem WHERE revision = repeat('a', 64)"""
JUDGE_HOST = "INSERT INTO judge_host (id, name, created_by) VALUES ('hst_x', 'x', 'x')"
REMOTE_TASKS = """
INSERT INTO remote_task (judge_id, work_id, attempt, task, host_id, worker_id, ended_at)
SELECT 'jdg_' || id, id, 1, 'submission:run', 'hst_x', 'wrk_x',
       CASE WHEN right(id, 2) <> '00' THEN now() END
  FROM submission"""
NONCES = """
INSERT INTO judge_host_nonce (host_id, nonce, used_at)
SELECT 'hst_x', md5(n::text), now() - n * interval '1 second'
  FROM generate_series(-3000, 200) AS n"""
CURSOR = "INSERT INTO similarity_cursor VALUES (1, now() + interval '1 hour')"


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
            for each in (EXECUTIONS, CODE_SESSIONS, DETAILS, OUTPUT, INPUT):
                await acquired.execute(each)
            for each in (RUBRIC, MODEL_CALLS, MODEL_SPEND):
                await acquired.execute(each)
            await acquired.execute(EVENTS)
            await acquired.execute(WEBHOOKS)
            for each in (PROGRAMS, PAIRS, CURSOR, JUDGE_HOST, REMOTE_TASKS, NONCES):
                await acquired.execute(each)
            await acquired.execute(COUNTERS, problem.id)
            await acquired.execute(PROBLEMS)
            await acquired.execute("ANALYZE")
        yield pool


LIST_PARAMETERS = (
    *("sort", "account", "drafts", "owner", "words", "tags", "lowest", "highest", "result"),
    *("after", "limit"),
)
SOME = "sub_00003000"
EXECUTION = "exe_00001500"
SESSION = "ses_00000500"
NEW_SUBMISSION: list[Any] = [
    *[["x"]] * 7,
    *([b""], [1], [0], ["x"], [b""], *[["x"]] * 4, [True], [9], ["x"], ["x"], [1]),
]
NEW_EXECUTION: list[Any] = [
    *[["x"]] * 4,
    *([b""], [b""], ["[]"], ["batch"], [{}], [{}], [None], [1], [0], ["x"], [b""]),
    *([None], [None], [None], 100),
]


def list_query(**asked: Any) -> list[Any]:
    """Values for the parameters of the list of problems, in the order of the statement."""
    values = {"sort": "id", "drafts": False, "limit": 51, **asked}
    return [values.get(name) for name in LIST_PARAMETERS]


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
    "what replaced a submission": (stages.SQL.copy_to_successor, [SOME], "rejudge"),
    "counters of an account": (counters.SQL.account_counts, ["usr_7"], "account_tally_pkey"),
    **{
        f"problems {name}": (problems.SQL.page, list_query(**asked), index)
        for name, asked, index in (
            ("by id", {}, "problem_pkey"),
            ("by title", {"sort": "title"}, "problem_by_title"),
            ("after another", {"sort": "title", "after": "prob_1500"}, "problem_by_title"),
            ("with words", {"words": "'word123':* & 'x':*"}, "problem_search"),
            ("with tags", {"sort": "title", "tags": ["tag7"]}, "problem_search"),
            ("of an account", {"account": "usr_7", "sort": "title"}, "account_tally_pkey"),
        )
    },
    "one call of a model": (
        model_calls.SQL.get,
        [SOME, "rub_x", "plain", "a", 1],
        "model_call_submission_id_rubric_id_variant_tier_number_key",
    ),
    "spend of a day": (model_calls.SQL.sums, [SOME, "usr_7"], "model_spend_pkey"),
    "the account of a token": (
        accounts.SQL.find_by_token_digest,
        [b"x" * 32],
        "token_digest_key",
    ),
    "failed webhooks": (stats.SQL.read_gauges, [30.0], "webhook_failed"),
    "the account of a name": (accounts.SQL.find_by_name, ["U7"], "account_name"),
    "credentials": (accounts.SQL.credentials, ["U7", None], "account_name"),
    "one execution": (executions.SQL.get, [EXECUTION], "execution_pkey"),
    "executions of a user": (
        executions.SQL.page,
        ["usr_7", None, None, 50],
        "execution_of_account",
    ),
    "executions of all users": (
        executions.SQL.page,
        [None, None, None, 50],
        "execution_pkey",
    ),
    "executions of a session": (
        executions.SQL.page,
        ["usr_7", SESSION, None, 50],
        "execution_of_session",
    ),
    "waiting executions of a user": (
        executions.SQL.insert_rows,
        NEW_EXECUTION,
        "execution_unfinished",
    ),
    "live executions of a user": (
        executions.SQL.count_live,
        ["usr_0"],
        "execution_unfinished",
    ),
    "waiting executions": (executions.SQL.count_waiting, [], "submission_line"),
    "new output": (
        executions.SQL.output_after,
        [EXECUTION, 1, 2, 200],
        "execution_output_pkey",
    ),
    "output of an execution": (
        executions.SQL.whole_output,
        [EXECUTION],
        "execution_output_pkey",
    ),
    "typed input": (executions.SQL.input_after, [EXECUTION, 0, 200], "execution_input_pkey"),
    "input of a key": (executions.SQL.input_of_key, [EXECUTION, "k"], "execution_input_once"),
    "ended executions": (executions.SQL.delete_ended, [3600.0, 500], "execution_ended"),
    "a code session": (code_sessions.SQL.get, [SESSION, "usr_7"], "execution_of_session"),
    "code sessions of a user": (
        code_sessions.SQL.page,
        ["usr_7", None, 50],
        "code_session_of_account",
    ),
    "submissions without fingerprints": (
        similarity.SQL.list_unread,
        [1, 600.0, 50],
        "submission_finished",
    ),
    "fingerprints of a problem": (
        similarity.SQL.list_programs,
        ["prob_sum", "cpp", 1, SOME, 500],
        "similarity_program_of_problem",
    ),
    "pairs of a submission": (
        similarity.SQL.list_partners,
        [[SOME]],
        "similarity_pair_of_right",
    ),
    "tasks of a judge host": (
        host_workers.SQL.renew,
        [[f"jdg_{SOME}"], [1], [2], "hst_x", "wrk_x"],
        "remote_task_",
    ),
    "old tasks of judge hosts": (
        remote_tasks.SQL.trim,
        [3600.0, 1000],
        "remote_task_host",
    ),
    "work that hosts could take": (
        remote_tasks.SQL.count_blocking,
        ["c", False, 5.0, [], 1],
        "submission_line",
    ),
    "old nonces": (judge_hosts.SQL.trim_nonces, [180.0], "judge_host_nonce_used"),
    "the account of a session": (sessions.SQL.find_account, [b"x" * 32], "session_pkey"),
}


async def test_hot_statements_use_their_index(full: Pool) -> None:
    without_index = {}
    for name, (statement, values, index) in PLANS.items():
        async with connection(full) as acquired:
            rows = await acquired.fetch(f"EXPLAIN {statement.sql}", *values)
        plan = "\n".join(row[0] for row in rows)
        if index not in plan or re.search(
            r"Seq Scan on (work|execution|code_session|problem|remote_task)\b", plan
        ):
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


SCANNED = """
SELECT relname, seq_scan FROM pg_stat_xact_user_tables JOIN pg_class USING (relname)
 WHERE reltuples > 100 ORDER BY relname"""


async def test_deleting_executions_reads_no_whole_table(full: Pool) -> None:
    """A plan does not show how the rows are found that refer to those that are deleted."""
    async with transaction(full) as deleting:
        before = [tuple(row) for row in await deleting.fetch(SCANNED)]
        assert await executions.delete_ended(deleting, older_than_s=0, limit=100) == 100
        assert [tuple(row) for row in await deleting.fetch(SCANNED)] == before
