"""The feed's order: none missed and none twice, whatever transactions do to each other."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from deemster.domain.ids import AccountId, SubmissionId
from deemster.domain.lifecycle import Event, State
from deemster.store import events
from deemster.store.events import FIRST_XACT, LAST_ID, EventCursor, SubmissionEvent
from deemster.store.lifecycle import advance
from deemster.store.pool import Connection, Pool, connection, open_pool
from tests.builders import make_account, make_problem, make_submission, queue_submission
from tests.waiting import until

FAR = 2**62
"""No server has had so many transactions."""


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    async with open_pool(database_url, name="test") as opened:
        yield opened


async def due(
    acquired: Connection, mark: EventCursor
) -> tuple[list[SubmissionEvent], EventCursor]:
    """What one who reads in order gets now, and where they are then. Others use this server
    too, and hold the order up: how the submissions were made may be told late.
    """
    sight = await events.current_snapshot(acquired)
    found = await events.list_after(acquired, mark, before=sight.xmin, limit=100)
    return [each for each in found if each.state is not State.PENDING], max(mark, sight.cursor)


async def test_one_who_commits_late_is_not_missed(pool: Pool) -> None:
    """H1: ids are given early, and seen late. A plain `id > last` would lose the first."""
    slow, quick = await make_submission(pool), await make_submission(pool)
    async with connection(pool) as one, connection(pool) as other, connection(pool) as reading:
        sight = await events.current_snapshot(reading)
        mark = sight.cursor
        transaction = one.transaction()
        await transaction.start()
        await advance(one, Event.PUBLISH, slow, 0)
        await advance(other, Event.PUBLISH, quick, 0)

        seen, touches = await events.changed_since(reading, sight)
        assert [each.submission for each in touches] == [quick], "as soon as it is committed"
        held, mark = await due(reading, mark)
        assert held == [], "in order, it waits for the one that came first"
        await transaction.commit()

        later, touches = await events.changed_since(reading, seen)
        assert [each.submission for each in touches] == [slow]
        assert (await events.changed_since(reading, later))[1] == []
        got: list[SubmissionEvent] = []

        async def all_are_there() -> bool:
            # Others use this server too, and their transactions hold the order up.
            nonlocal mark
            found, mark = await due(reading, mark)
            got.extend(found)
            return len(got) >= 2

        await until(all_are_there)
    assert [each.submission for each in got] == [slow, quick]
    assert got[0].cursor < got[1].cursor


async def test_a_transaction_that_fails_leaves_no_event(pool: Pool) -> None:
    submission = await make_submission(pool)
    async with connection(pool) as writing, connection(pool) as reading:
        sight = await events.current_snapshot(reading)
        transaction = writing.transaction()
        await transaction.start()
        await advance(writing, Event.PUBLISH, submission, 0)
        await transaction.rollback()
        assert (await events.changed_since(reading, sight))[1] == []


async def test_events_of_a_restored_backup_come_first(pool: Pool) -> None:
    """Their transactions were another server's, with numbers that this one has yet to reach."""
    submission = await make_submission(pool)
    async with connection(pool) as acquired:
        before = await events.current_snapshot(acquired)
        await acquired.execute("UPDATE submission_event SET xact = $1", FAR)
        assert await events.list_after(acquired, before.cursor, before=FAR, limit=10) == []
        assert (
            await events.list_after(acquired, EventCursor(0, 0), before=before.xmin, limit=10)
            == []
        )
        await events.reset_future_transactions(acquired)
        found = await events.list_after(
            acquired, EventCursor(0, 0), before=before.xmin, limit=10
        )
        assert [(each.submission, each.cursor.xact) for each in found] == [
            (submission, FIRST_XACT)
        ]
        await advance(acquired, Event.PUBLISH, submission, 0)
        _, touches = await events.changed_since(acquired, before)
        assert [each.submission for each in touches] == [submission]
        kept = await acquired.fetchval("SELECT max(xact::text::bigint) FROM submission_event")
        await events.reset_future_transactions(acquired)
        again = await acquired.fetchval("SELECT max(xact::text::bigint) FROM submission_event")
        assert FIRST_XACT < kept == again < FAR, "those of this server stay as they are"


async def test_an_event_tells_what_its_submission_is(pool: Pool) -> None:
    ada, bob = await make_account(pool), await make_account(pool, "bob")
    submission, other = await make_submission(pool, ada), await make_submission(pool, bob)
    await queue_submission(pool, submission)
    async with connection(pool) as acquired:
        own = await events.list_of_submissions(acquired, [submission])
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
        assert [each.submission for each in of_bob] == [other]
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
PEOPLE = """
INSERT INTO account (id, name, role) SELECT 'usr_' || n, 'u' || n, 'user'
  FROM generate_series(0, 499) AS n"""
TOLD = """
INSERT INTO submission_event (submission_id, event, state, attempt, xact)
SELECT s.id, 'submit', 'PENDING', 0, ((row_number() OVER ()) / 100 + 3)::text::xid8
  FROM submission s, generate_series(1, 5)"""
LEASES = """
INSERT INTO lease (submission_id, attempt, worker_id, lease_s, cases_total)
SELECT id, 1, 'wrk_x', 15, 3 FROM submission"""
SOME = [SubmissionId("sub_00003000"), SubmissionId("sub_00003001")]
OF_ONE = AccountId("usr_7")
LATE, NOW = 300, FAR
"""Of the 300 transactions that the events have."""
PLANS: dict[str, tuple[Any, dict[str, Any], set[str]]] = {
    "what is new": (events.SQL.changed_since, {"seen": f"{LATE}:{LATE}:"}, {"event_order"}),
    "what is due": (
        events.SQL.list_after,
        {"xact": LATE, "id": LAST_ID, "before": NOW, "contest": None, "limit": 500},
        {"event_order"},
    ),
    "all that ever was, a page of it": (
        events.SQL.list_after,
        {"xact": 1, "id": 1, "before": NOW, "contest": None, "limit": 500},
        {"event_order"},
    ),
    "an account's, from long ago": (
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
    "some submissions'": (
        events.SQL.list_of_submissions,
        {"submissions": SOME},
        {"event_of_submission"},
    ),
    "how far they are": (events.SQL.running_progress, {"submissions": SOME}, {"lease_pkey"}),
    "what came from elsewhere": (
        events.SQL.reset_future_transactions,
        {"limit": 100},
        {"event_order"},
    ),
}


async def test_the_feed_finds_its_rows_by_an_index(pool: Pool) -> None:
    """However many events there are: this runs ten times a second in each process."""
    sheet = await make_problem(pool)
    wrong = {}
    async with connection(pool) as acquired:
        await acquired.execute(PEOPLE)
        await acquired.execute(FILL, sheet.id, sheet.digest)
        await acquired.execute(TOLD)
        await acquired.execute(LEASES)
        await acquired.execute("ANALYZE")
        for name, (statement, values, indexes) in PLANS.items():
            order = events.SQL.driver_adapter.var_sorted[statement.__name__]
            rows = await acquired.fetch(
                f"EXPLAIN {statement.sql}", *(values[each] for each in order)
            )
            plan = "\n".join(row[0] for row in rows)
            if not all(each in plan for each in indexes) or "Seq Scan" in plan:
                wrong[name] = plan
    assert not wrong, "\n\n".join(f"{name}:\n{plan}" for name, plan in wrong.items())


async def test_a_transaction_that_stays_open_does_not_make_each_look_longer(pool: Pool) -> None:
    """What was seen is not looked at again, however much came since the oldest that runs."""
    sheet = await make_problem(pool)
    async with connection(pool) as acquired:
        await acquired.execute(PEOPLE)
        await acquired.execute(FILL, sheet.id, sheet.digest)
        await acquired.execute(TOLD)
        await acquired.execute("ANALYZE")
        explain = f"EXPLAIN (ANALYZE, TIMING off) {events.SQL.changed_since.sql}"
        rows = await acquired.fetch(explain, f"3:{LATE}:3,5")
        _, touches = await events.changed_since(acquired, events.Snapshot(f"3:{LATE}:3,5"))
    assert {each.xact for each in touches} == {3, 5, LATE, LATE + 1, LATE + 2, LATE + 3}
    plan = "\n".join(row[0] for row in rows)
    assert "Rows Removed by Filter" not in plan, plan
