"""The status line of a running service."""

from collections import deque

from deemster.cli.up.status import as_line, rate, reason_of
from deemster.store import stats
from deemster.store.pool import Pool, connection
from deemster.store.stats import LiveStats
from tests.builders import make_submission, queue_submission, start_submission


async def test_live_stats_count_waiting_and_running_submissions(pool: Pool) -> None:
    async with connection(pool) as acquired:
        start = await stats.newest_event(acquired)
    first, _ = [await make_submission(pool) for _ in range(2)]
    await queue_submission(pool, first)
    await start_submission(pool, first)
    async with connection(pool) as acquired:
        found = await stats.read_live_stats(acquired, after=start)
        again = await stats.read_live_stats(acquired, after=found.newest)
    assert (found.waiting, found.running, found.judged) == (1, 1, 0)
    assert (again.newest, again.judged) == (found.newest, 0)


def test_the_rate_is_that_of_the_last_polls() -> None:
    assert rate(deque([(0.0, 5)])) == 0
    assert rate(deque([(0.0, 5), (1.0, 4), (2.0, 6)])) == 5


def test_the_status_is_one_line() -> None:
    line = as_line(LiveStats(1200, 2, 0, 0, 1, 2), 3.25)
    assert line == "1,200 waiting · 2 running · 3.2 judged/s · 1 worker, 2 at once"


def test_the_parts_that_are_not_ready_are_named() -> None:
    answer = {
        "ready": False,
        "database": {"ok": True, "detail": "answers"},
        "workers": {"ok": False, "detail": "no live worker"},
    }
    assert reason_of(answer) == "workers: no live worker"
    assert reason_of([]) == "the API gives no reason"
