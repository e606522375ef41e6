"""Who runs what: a worker that lives keeps it, one that is silent loses it for good."""

import signal

import pytest

from deemster.domain.errors import Unavailable
from deemster.domain.ids import SubmissionId
from deemster.store.pool import transaction
from tests.system.conftest import RunningService
from tests.system.programs import sleepy
from tests.system.service import Service
from tests.system.truth import Ledger, assert_exactly_once, until_all_ended, until_at_rest
from tests.waiting import until

CASES = 11
SHORT_S = 2
SETTINGS = {"lease_s": SHORT_S}
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def ledger() -> Ledger:
    """All submissions of this module's service."""
    return {}


async def remains(service: Service, submission: SubmissionId) -> list[object]:
    """All that is written of it."""
    tables = {
        "submission": "id",
        "work_event": "work_id",
        "judgement": "submission_id",
        "outbox": "work_id",
        "lease": "work_id",
    }
    rows: list[object] = []
    for table, column in tables.items():
        statement = f"SELECT * FROM {table} WHERE {column} = $1"
        rows += [dict(row) for row in await service.fetch(statement, submission)]
    for table in ("account_tally", "problem_tally"):
        rows += [dict(row) for row in await service.fetch(f"SELECT * FROM {table}")]
    return rows


async def test_a_stopped_worker_that_wakes_after_its_lease_changes_nothing(
    own_service: RunningService, ledger: Ledger
) -> None:
    """S2, J12, Q6: its run was rescued and judged by another, so its own result is late."""
    program, service = sleepy(0.2), own_service.service
    sleeper = service.fleet.members["worker"]
    submission = await service.submit(program)
    ledger[submission] = program
    await service.until_state("RUNNING", submission)
    sleeper.send(signal.SIGSTOP)
    service.fleet.start("worker", "other")
    await service.until_state("COMPLETED", submission)
    before = await remains(service, submission)
    assert await service.events(submission) == [
        *("submit", "publish", "start", "rescue", "start", "complete"),
    ]
    sleeper.send(signal.SIGCONT)
    await until(lambda: sleeper.said("job.done"))
    assert [line["result"] for line in sleeper.said("job.done")] == ["superseded"]
    await until_at_rest(service)
    assert await remains(service, submission) == before
    await assert_exactly_once(service, ledger)


async def test_the_keeper_ends_a_transaction_that_froze_before_a_new_statement(
    own_service: RunningService,
) -> None:
    """Q6: else it would keep its locks, and the watchdog would wait for them."""
    with pytest.raises(Unavailable):
        await freeze_until_the_keeper_ends_it(own_service.service)


async def freeze_until_the_keeper_ends_it(service: Service) -> None:
    keeper = service.fleet.members["keeper"]
    async with transaction(service.pool) as frozen:
        await frozen.prepare("SELECT 'a statement that is new to this connection'")
        await until(lambda: keeper.said("database.frozen_client_ended"))
        await frozen.execute("SELECT 1")


async def test_a_long_job_keeps_its_lease_and_shows_how_far_it_is(
    own_service: RunningService, ledger: Ledger
) -> None:
    """Q5, J10: it takes several leases, and nobody takes it away meanwhile."""
    program, service = sleepy(0.7), own_service.service
    submission = await service.submit(program)
    ledger[submission] = program
    await service.until_state("RUNNING", submission)
    seen: set[int] = set()

    async def look() -> bool:
        view = await service.view(submission)
        if view.progress is not None:
            seen.add(view.progress.done)
            assert view.progress.total in {0, CASES}
        return view.verdict is not None

    await until(look)
    assert len(seen - {0}) >= 3
    assert seen <= set(range(CASES + 1))
    await until_all_ended(service, ledger)
    assert await service.events(submission) == ["submit", "publish", "start", "complete"]
    view = await service.view(submission)
    assert view.started_at is not None
    assert view.finished_at is not None
    assert (view.finished_at - view.started_at).total_seconds() > 3 * SHORT_S
    await until_at_rest(service)
    await assert_exactly_once(service, ledger)
