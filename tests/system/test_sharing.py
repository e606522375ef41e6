"""Many workers, many users: who works on what, in which order, and how many at once."""

import asyncio
import operator
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

QUICK = sleepy(0.1, right=False)
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


async def until_each_has_done(workers: list[Member], wanted: list[int]) -> None:
    """How many each one gets of a line that is never empty depends on the machine."""
    await until(lambda: all(map(operator.ge, map(done_by, workers), wanted)))


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
            await until_each_has_done(workers, [3, 3])
            # The machine may have but two cores, which those two hold by their work directory.
            elsewhere = tmp_path / "work3"
            workers.append(service.fleet.start("worker", "worker3", work_dir=elsewhere))
            await service.until_workers(3)
            await until_each_has_done(workers, [done_by(worker) + 3 for worker in workers])
            enough.set()
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


SLOW = sleepy(0.3, right=False)
SLOW_PYTHON = Program(
    "python3",
    "import time\ntime.sleep(0.3)\nprint()\n",
    Verdict.WRONG_ANSWER,
)


Kind = Callable[[Any], object]
CAPS: list[tuple[dict[str, object], list[Kind], int]] = [
    (
        {"max_running_per_user": 1, "max_running_by_language": "c=1,python3=1"},
        [lambda row: row["account_id"], lambda row: row["language"]],
        2,
    ),
    ({"max_running": 1}, [lambda row: "all"], 1),
]


@pytest.mark.parametrize(
    ("settings", "kinds", "most"),
    [CAPS[0], pytest.param(*CAPS[1], marks=pytest.mark.soak)],
    ids=["by user and language", "everywhere"],
)
async def test_no_more_run_at_once_than_may(
    open_service: OpenService, settings: dict[str, object], kinds: list[Kind], most: int
) -> None:
    """Q9: two slots are free, and a second of a kind has to wait all the same.

    tests/pipeline/verdict/test_attempt.py tries each cap with many starts at once.
    """
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
        for kind in kinds:
            assert set(peaks(history, kind).values()) == {1}
        assert peaks(history, lambda row: "all") == {"all": most}


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
