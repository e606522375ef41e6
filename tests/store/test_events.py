"""Events are read in an order that misses none and repeats none."""

from typing import Any

from deemster.domain.ids import AccountId, SubmissionId
from deemster.domain.lifecycle import Event, State
from deemster.store import events
from deemster.store.events import FIRST_XACT, LAST_ID, EventCursor, WorkEvent
from deemster.store.lifecycle import advance
from deemster.store.pool import Connection, Pool, connection
from tests.builders import make_account, make_problem, make_submission, queue_submission
from tests.waiting import until

FAR = 2**62
"""Higher than the number of any real transaction."""


async def read_on(
    acquired: Connection, cursor: EventCursor
) -> tuple[list[WorkEvent], EventCursor]:
    """Reads the next events in order, and returns the new cursor. Other tests use this server
    too, and their open transactions may delay the first events.
    """
    snapshot = await events.current_snapshot(acquired)
    found = await events.list_after(acquired, cursor, before=snapshot.xmin, limit=100)
    return [each for each in found if each.state is not State.PENDING], max(
        cursor, snapshot.cursor
    )


async def test_an_event_that_is_committed_late_is_not_missed(pool: Pool) -> None:
    """H1: ids are assigned before the commit, so `id > last` would miss the slow one."""
    slow, quick = await make_submission(pool), await make_submission(pool)
    async with connection(pool) as one, connection(pool) as other, connection(pool) as reading:
        snapshot = await events.current_snapshot(reading)
        cursor = snapshot.cursor
        transaction = one.transaction()
        await transaction.start()
        await advance(one, Event.PUBLISH, slow, 0)
        await advance(other, Event.PUBLISH, quick, 0)

        seen, changed = await events.changed_since(reading, snapshot)
        assert [each.work for each in changed] == [quick], "visible as soon as it is committed"
        found, cursor = await read_on(reading, cursor)
        assert found == [], "in order, it waits for the earlier transaction"
        await transaction.commit()

        later, changed = await events.changed_since(reading, seen)
        assert [each.work for each in changed] == [slow]
        assert (await events.changed_since(reading, later))[1] == []
        got: list[WorkEvent] = []

        async def both_are_read() -> bool:
            # Other tests use this server too, and their open transactions delay events.
            nonlocal cursor
            found, cursor = await read_on(reading, cursor)
            got.extend(found)
            return len(got) >= 2

        await until(both_are_read)
    assert [each.work for each in got] == [slow, quick]
    assert got[0].cursor < got[1].cursor


async def test_a_transaction_that_fails_leaves_no_event(pool: Pool) -> None:
    submission = await make_submission(pool)
    async with connection(pool) as writing, connection(pool) as reading:
        snapshot = await events.current_snapshot(reading)
        transaction = writing.transaction()
        await transaction.start()
        await advance(writing, Event.PUBLISH, submission, 0)
        await transaction.rollback()
        assert (await events.changed_since(reading, snapshot))[1] == []


async def test_events_of_a_restored_backup_come_first(pool: Pool) -> None:
    """Their transaction numbers are another server's, which this one has not reached yet."""
    submission = await make_submission(pool)
    async with connection(pool) as acquired:
        before = await events.current_snapshot(acquired)
        await acquired.execute("UPDATE work_event SET xact = $1", FAR)
        assert await events.list_after(acquired, before.cursor, before=FAR, limit=10) == []
        assert (
            await events.list_after(acquired, EventCursor(0, 0), before=before.xmin, limit=10)
            == []
        )
        await events.reset_future_transactions(acquired)
        found = await events.list_after(
            acquired, EventCursor(0, 0), before=before.xmin, limit=10
        )
        assert [(each.work, each.cursor.xact) for each in found] == [(submission, FIRST_XACT)]
        await advance(acquired, Event.PUBLISH, submission, 0)
        _, changed = await events.changed_since(acquired, before)
        assert [each.work for each in changed] == [submission]
        kept = await acquired.fetchval("SELECT max(xact::text::bigint) FROM work_event")
        await events.reset_future_transactions(acquired)
        again = await acquired.fetchval("SELECT max(xact::text::bigint) FROM work_event")
        assert FIRST_XACT < kept == again < FAR, "events of this server are not changed"


async def test_an_event_has_the_fields_of_its_submission(pool: Pool) -> None:
    ada, bob = await make_account(pool), await make_account(pool, "bob")
    submission, other = await make_submission(pool, ada), await make_submission(pool, bob)
    await queue_submission(pool, submission)
    async with connection(pool) as acquired:
        own = await events.list_of_work(acquired, [submission])
        assert [each.state for each in own] == [State.PENDING, State.QUEUED]
        assert {(each.account, each.problem, each.language) for each in own} == {
            (ada, "prob_sum", "python3")
        }
        assert not any(each.staged or each.is_final or each.verdict for each in own)
        of_ada = await events.list_of_account(
            acquired, ada, EventCursor(0, 0), before=FAR, limit=10
        )
        assert of_ada == own
        of_bob = await events.list_of_account(
            acquired, bob, EventCursor(0, 0), before=FAR, limit=10
        )
        assert [each.work for each in of_bob] == [other]
        first = await events.list_of_account(
            acquired, ada, EventCursor(0, 0), before=FAR, limit=1
        )
        assert first == own[:1]
        rest = await events.list_of_account(acquired, ada, own[0].cursor, before=FAR, limit=10)
        assert rest == own[1:]
        assert await events.running_progress(acquired, [submission]) == {}


FILL = """
INSERT INTO submission (id, account_id, problem_id, revision, language, source, priority,
    request_digest)
SELECT 'sub_' || to_char(n, 'FM00000000'), 'usr_' || n % 500, $1, $2, 'c', 'x', 1,
       sha256(n::text::bytea)
  FROM generate_series(1, 6000) AS n"""
ACCOUNTS = """
INSERT INTO account (id, name, role) SELECT 'usr_' || n, 'u' || n, 'user'
  FROM generate_series(0, 499) AS n"""
EVENTS = """
INSERT INTO work_event (work_id, event, state, attempt, xact)
SELECT s.id, 'submit', 'PENDING', 0, ((row_number() OVER ()) / 100 + 3)::text::xid8
  FROM submission s, generate_series(1, 5)"""
LEASES = """
INSERT INTO lease (work_id, attempt, worker_id, lease_s, cases_total)
SELECT id, 1, 'wrk_x', 15, 3 FROM submission"""
SOME = [SubmissionId("sub_00003000"), SubmissionId("sub_00003001")]
OF_ONE = AccountId("usr_7")
LATE, NOW = 300, FAR
"""The events have 300 transactions."""
PLANS: dict[str, tuple[Any, dict[str, Any], set[str]]] = {
    "new events": (events.SQL.changed_since, {"seen": f"{LATE}:{LATE}:"}, {"event_order"}),
    "events in order": (
        events.SQL.list_after,
        {"xact": LATE, "id": LAST_ID, "before": NOW, "contest": None, "limit": 500},
        {"event_order"},
    ),
    "the first page of all events": (
        events.SQL.list_after,
        {"xact": 1, "id": 1, "before": NOW, "contest": None, "limit": 500},
        {"event_order"},
    ),
    "an account's old events": (
        events.SQL.list_of_account,
        {
            "account": OF_ONE,
            "xact": 1,
            "id": 1,
            "before": NOW,
            "contest": None,
            "with_staged": False,
            "limit": 500,
        },
        {"submission_of_account", "event_of_submission"},
    ),
    "events of submissions": (
        events.SQL.list_of_work,
        {"works": SOME},
        {"event_of_submission"},
    ),
    "progress": (events.SQL.running_progress, {"works": SOME}, {"lease_pkey"}),
    "restored events": (
        events.SQL.reset_future_transactions,
        {"limit": 100},
        {"event_order"},
    ),
}


async def test_event_statements_use_their_index(pool: Pool) -> None:
    """They run ten times a second in each process."""
    problem = await make_problem(pool)
    without_index = {}
    async with connection(pool) as acquired:
        await acquired.execute(ACCOUNTS)
        await acquired.execute(FILL, problem.id, problem.digest)
        await acquired.execute(EVENTS)
        await acquired.execute(LEASES)
        await acquired.execute("ANALYZE")
        for name, (statement, values, indexes) in PLANS.items():
            order = events.SQL.driver_adapter.var_sorted[statement.__name__]
            rows = await acquired.fetch(
                f"EXPLAIN {statement.sql}", *(values[each] for each in order)
            )
            plan = "\n".join(row[0] for row in rows)
            if not all(each in plan for each in indexes) or "Seq Scan" in plan:
                without_index[name] = plan
    assert not without_index, "\n\n".join(
        f"{name}:\n{plan}" for name, plan in without_index.items()
    )


async def test_a_long_transaction_does_not_make_each_read_longer(pool: Pool) -> None:
    """Events that were seen are not read again, however old the oldest transaction is."""
    problem = await make_problem(pool)
    async with connection(pool) as acquired:
        await acquired.execute(ACCOUNTS)
        await acquired.execute(FILL, problem.id, problem.digest)
        await acquired.execute(EVENTS)
        await acquired.execute("ANALYZE")
        explain = f"EXPLAIN (ANALYZE, TIMING off) {events.SQL.changed_since.sql}"
        rows = await acquired.fetch(explain, f"3:{LATE}:3,5")
        _, changed = await events.changed_since(acquired, events.Snapshot(f"3:{LATE}:3,5"))
    assert {each.xact for each in changed} == {3, 5, LATE, LATE + 1, LATE + 2, LATE + 3}
    plan = "\n".join(row[0] for row in rows)
    assert "Rows Removed by Filter" not in plan, plan
