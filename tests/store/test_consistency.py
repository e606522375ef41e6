"""The consistency counts notice missing rows."""

import pytest

from deemster.domain.ids import SubmissionId
from deemster.domain.lifecycle import Event
from deemster.store import consistency
from deemster.store.consistency import ConsistencyCounts
from deemster.store.lifecycle import advance
from deemster.store.pool import Pool, connection, open_pool
from tests.builders import make_submission, queue_submission, start_submission


@pytest.mark.parametrize(
    ("loss", "missing"),
    [
        ("DELETE FROM outbox WHERE work_id = $1", "jobs"),
        ("DELETE FROM work_event WHERE work_id = $1", "events"),
        ("UPDATE submission SET source = 'gone' WHERE id = $1", "sources"),
    ],
)
async def test_a_missing_row_is_noticed(database_url: str, loss: str, missing: str) -> None:
    async with open_pool(database_url, name="test") as pool:
        ids = [await make_submission(pool) for _ in range(3)]
        async with connection(pool) as acquired:
            whole = await consistency.count_rows(acquired, ids)
            await acquired.execute(loss, ids[1])
            rest = await consistency.count_rows(acquired, ids)
    assert whole == ConsistencyCounts(
        rows=3, events=3, jobs=3, sources=3, judged=0, unjudged=0, ends=0
    )
    assert getattr(rest, missing) == 2


async def test_unknown_ids_are_not_counted(database_url: str) -> None:
    async with open_pool(database_url, name="test") as pool:
        own = await make_submission(pool)
        async with connection(pool) as acquired:
            assert (await consistency.count_rows(acquired, [own, "sub_nowhere"])).rows == 1


async def test_waiting_and_started_submissions_are_listed_in_order(database_url: str) -> None:
    async with open_pool(database_url, name="test") as pool:
        ids = [await make_submission(pool) for _ in range(4)]
        await start(pool, ids[2])
        await start(pool, ids[1])
        async with connection(pool) as acquired:
            await advance(acquired, Event.CANCEL, ids[3], 0)
            assert await consistency.list_waiting(acquired, 10) == [ids[0]]
            starts = await consistency.list_starts(acquired, 0)
            found = await consistency.count_rows(acquired, ids)
    assert [own for own, _ in starts] == [ids[2], ids[1]]
    assert starts[0][1] <= starts[1][1]
    assert (found.judged, found.unjudged, found.ends) == (0, 1, 1)


async def start(pool: Pool, own: SubmissionId) -> None:
    await queue_submission(pool, own)
    await start_submission(pool, own)
