"""Many workers, many users: who works on what, in which order, and how many at once."""

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deemster.domain.job import PriorityClass
from deemster.domain.verdict import Verdict
from tests.system.conftest import OpenService
from tests.system.fleet import Member
from tests.system.programs import Program, sleepy
from tests.system.service import Service
from tests.system.truth import Ledger, assert_exactly_once, until_all_ended
from tests.waiting import until

QUICK = sleepy(0.01)
IN_LINE = 10
WAITING = "SELECT count(*) FROM submission WHERE state IN ('PENDING', 'QUEUED')"
HISTORY = """
SELECT e.work_id, e.event, s.language, s.account_id
  FROM work_event e JOIN submission s ON s.id = e.work_id
 WHERE e.event IN ('start', 'complete', 'retry', 'rescue')
 ORDER BY e.id
"""


def done_by(worker: Member) -> int:
    return len(worker.said("job.done"))


async def until_done(workers: list[Member], wanted: int) -> None:
    await until(lambda: sum(map(done_by, workers)) >= wanted)


async def test_two_workers_share_the_load_and_a_third_takes_its_part(
    open_service: OpenService, tmp_path: Path
) -> None:
    """O4, Q9: nobody is told of the third one; it asks the queue like the others."""
    ledger: Ledger = {}
    enough = asyncio.Event()
    async with open_service() as service:
        service.start("relay", "keeper")
        workers = [service.fleet.start("worker", f"worker{number}") for number in (1, 2)]
        await service.until_workers(2)
        async with asyncio.TaskGroup() as group:
            group.create_task(keep_in_line(service, ledger, enough))
            await until_done(workers, 24)
            assert min(map(done_by, workers)) >= 6
            # The machine may have but two cores, which those two hold by their work directory.
            elsewhere = tmp_path / "work3"
            workers.append(service.fleet.start("worker", "worker3", work_dir=elsewhere))
            await service.until_workers(3)
            before = [done_by(worker) for worker in workers]
            await until_done(workers, sum(before) + 36)
            enough.set()
        part = [done_by(worker) - was for worker, was in zip(workers, before, strict=True)]
        assert min(part) >= 6, part
        await until_all_ended(service, ledger)
        await assert_exactly_once(service, ledger)


async def keep_in_line(service: Service, ledger: Ledger, enough: asyncio.Event) -> None:
    async def is_short() -> bool:
        return enough.is_set() or await service.value(WAITING) < IN_LINE

    while not enough.is_set():
        ledger[await service.submit(QUICK)] = QUICK
        await until(is_short)


async def test_lower_ranks_and_those_who_have_many_wait_longer(
    open_service: OpenService,
) -> None:
    """Q8: contest, interactive, practice, rejudge; a user's second is behind others' first."""
    asked = [
        ("ada", PriorityClass.REJUDGE),
        ("ada", PriorityClass.PRACTICE),
        ("ada", PriorityClass.PRACTICE),
        ("bob", PriorityClass.PRACTICE),
        ("bob", PriorityClass.INTERACTIVE),
        ("ada", PriorityClass.CONTEST),
        ("eve", PriorityClass.CONTEST),
    ]
    wanted = [6, 5, 4, 3, 1, 2, 0]
    async with open_service() as service:
        service.start("relay", "keeper")
        given = [
            await service.submit(QUICK, user=user, priority_class=priority_class)
            for user, priority_class in asked
        ]
        await service.until_state("QUEUED", *given)
        service.start("worker")
        await until_all_ended(service, dict.fromkeys(given, QUICK))
        rows = await service.fetch("SELECT id FROM submission ORDER BY started_at")
        assert [given.index(row["id"]) for row in rows] == wanted


SLOW = sleepy(0.03)
SLOW_PYTHON = Program(
    "python3",
    "import time\na, b = map(int, input().split())\ntime.sleep(0.03)\nprint(a + b)\n",
    Verdict.ACCEPTED,
)


Kind = Callable[[Any], object]
CAPS: dict[str, tuple[dict[str, object], Kind]] = {
    "everywhere": ({"most_running": 1}, lambda row: "all"),
    "by user": ({"most_running_per_user": 1}, lambda row: row["account_id"]),
    "by language": (
        {"most_running_by_language": "c=1,python3=1"},
        lambda row: row["language"],
    ),
}


@pytest.mark.parametrize("cap", CAPS)
async def test_no_more_run_at_once_than_may(open_service: OpenService, cap: str) -> None:
    """Q9: two slots are free, and a second of a kind has to wait all the same."""
    settings, kind = CAPS[cap]
    async with open_service(**settings) as service:
        service.start("relay", "keeper")
        for number in (1, 2):
            service.fleet.start("worker", f"worker{number}")
        await service.until_workers(2)
        ledger: Ledger = {}
        for number in range(8):
            program = (SLOW, SLOW_PYTHON)[number // 2 % 2]
            user = ("ada", "bob")[number % 2]
            ledger[await service.submit(program, user=user)] = program
        await until_all_ended(service, ledger)
        await assert_exactly_once(service, ledger)
        history = await service.fetch(HISTORY)
        assert set(peaks(history, kind).values()) == {1}
        if cap != "everywhere":
            assert peaks(history, lambda row: "all") == {"all": 2}


def peaks(history: list[Any], kind: Kind) -> dict[object, int]:
    """How many of each kind ran at once, at most.

    A start that counted others has a later event than the ends which it saw, and an earlier one
    than those which it did not: the order of events is that of the counts.
    """
    running: Counter[object] = Counter()
    most: Counter[object] = Counter()
    for row in history:
        running[kind(row)] += 1 if row["event"] == "start" else -1
        most[kind(row)] = max(most[kind(row)], running[kind(row)])
    return dict(most)
