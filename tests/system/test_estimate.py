"""A4: what a waiting submission is told of its place comes true."""

import random
from dataclasses import dataclass
from datetime import datetime

import pytest

from deemster.domain.ids import SubmissionId
from tests.services.ports import reserved_port
from tests.system.client import Client, client_of
from tests.system.conftest import OpenService
from tests.system.programs import MIXED, Program, sleepy
from tests.system.service import Service
from tests.system.truth import Ledger, assert_exactly_once, until_all_ended
from tests.waiting import until

TOLERANCE = 0.25
PLACES = 5
SLOWED_DOWN = """
WITH run AS (
    SELECT started_at, finished_at, extract(epoch FROM finished_at - started_at) AS took_s
      FROM submission
)
SELECT (avg(took_s) FILTER (WHERE started_at BETWEEN $1 AND $2)
        / avg(took_s) FILTER (WHERE finished_at < $1))::float
  FROM run
"""
"""How much longer runs took between two times than those that had ended before."""
STARTED_BETWEEN = "SELECT count(*) FROM submission WHERE started_at > $1 AND started_at < $2"
ALIKE = (sleepy(0.3, right=False), sleepy(0.2, right=False))
"""They sleep, so that what else this machine does hardly changes how long they take."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a submission was told, and when."""

    id: SubmissionId
    position: int
    wait_s: float
    at: datetime


async def test_position_and_estimate_in_a_line_of_60(open_service: OpenService) -> None:
    """Other tests begin and end meanwhile, and change how fast this machine is: of the time
    only that counts which no such change explains.
    """
    await estimate_test(open_service, depth=60, settled=15, programs=ALIKE, times=2.5)


@pytest.mark.soak
async def test_position_and_estimate_at_a_depth_of_500(open_service: OpenService) -> None:
    times = 1 + TOLERANCE
    await estimate_test(open_service, depth=700, settled=200, programs=MIXED, times=times)


async def estimate_test(
    open_service: OpenService,
    *,
    depth: int,
    settled: int,
    programs: tuple[Program, ...],
    times: float,
) -> None:
    chance = random.Random(depth)
    port = reserved_port()
    async with open_service(port=port) as service, client_of(service, port) as client:
        service.start("api", "relay", "keeper")
        for number in (1, 2):
            service.fleet.start("worker", f"worker{number}")
        await service.until_workers(2)
        ledger: Ledger = {}
        for number in range(depth):
            program = chance.choice(programs)
            ledger[await service.submit(program, user=f"user{number % 7}")] = program
        told = await ask_some(service, client, settled)
        await until_all_ended(service, ledger)
        for each in told:
            started_at = (await service.view(each.id)).started_at
            assert started_at is not None
            wait_s = (started_at - each.at).total_seconds()
            before = await service.value(STARTED_BETWEEN, each.at, started_at) + 1
            slower = max(1.0, await service.value(SLOWED_DOWN, each.at, started_at))
            print(f"{each.position} ({before}), {each.wait_s:.1f} s ({wait_s:.1f} s)", slower)
            assert each.position == pytest.approx(before, rel=TOLERANCE)
            assert wait_s / times <= each.wait_s * slower <= wait_s * times
        await assert_exactly_once(service, ledger)


async def ask_some(service: Service, client: Client, settled: int) -> list[Told]:
    """At several places in the line's second half, once so many are done."""
    done = "SELECT count(*) FROM submission WHERE finished_at IS NOT NULL"

    async def is_settled() -> bool:
        return bool(await service.value(done) >= settled)

    await until(is_settled)
    waiting = await service.fetch(
        "SELECT id FROM submission WHERE state IN ('PENDING', 'QUEUED') ORDER BY priority, id"
    )
    told = []
    for place in range(1, PLACES + 1):
        submission = waiting[-(place * len(waiting) // (2 * PLACES))]["id"]
        at = await service.value("SELECT now()")
        seen = await client.look(submission)
        told.append(Told(submission, seen["queue_position"], seen["estimated_wait_s"], at))
    return told
