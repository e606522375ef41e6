"""Q14: a worker that is told to end finishes or gives back, and leaves nothing behind."""

import signal
from itertools import count

import pytest

from deemster.domain.execution import ProgramIo, Stream
from deemster.domain.ids import ExecutionId
from deemster.store import executions
from deemster.store.pool import connection
from tests.system.client import client_of
from tests.system.conftest import RunningService
from tests.system.fleet import Member
from tests.system.programs import RIGHT, sleepy
from tests.system.service import Service
from tests.system.traces import Watch
from tests.system.truth import Ledger, assert_exactly_once, until_all_ended, until_at_rest
from tests.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="module")

NUMBERS = count(1)
STAYS = "SELECT count(*) FROM worker WHERE id = $1 AND gone_at IS NULL AND busy = 0"
GONE = """
SELECT gone_at IS NOT NULL AND draining_at IS NOT NULL FROM worker
 WHERE split_part(process, ':', 2)::int = $1
"""


@pytest.fixture(scope="module")
def ledger() -> Ledger:
    """All submissions of this module's service."""
    return {}


@pytest.fixture(scope="module")
def executed() -> list[ExecutionId]:
    """All executions of this module's service."""
    return []


def only_worker(service: Service) -> Member:
    """The one that the test before has left, or a new one."""
    running = service.fleet.running("worker")
    return running[0] if running else start_worker(service)


def start_worker(service: Service) -> Member:
    return service.fleet.start("worker", f"worker{next(NUMBERS)}")


async def test_a_worker_told_to_end_finishes_what_it_runs_and_takes_no_more(
    own_service: RunningService, ledger: Ledger, executed: list[ExecutionId]
) -> None:
    slow, service = sleepy(0.3), own_service.service
    worker = only_worker(service)
    running = await service.submit(slow)
    await service.until_state("RUNNING", running)
    waiting = await service.submit(RIGHT)
    await service.until_state("QUEUED", waiting)
    ledger |= {running: slow, waiting: RIGHT}
    watch = Watch(service.fleet)
    watch.look()
    assert await service.fleet.leave(worker) == 0
    assert await service.value(GONE, worker.pid)
    assert await service.events(running) == ["submit", "publish", "start", "complete"]
    assert await service.events(waiting) == ["submit", "publish"]
    await watch.nothing_is_left(service.directory)
    start_worker(service)
    await until_all_ended(service, ledger)
    await until_at_rest(service)
    await assert_exactly_once(service, ledger, executed)


async def test_a_second_signal_gives_the_run_back_at_once_and_another_judges_it(
    own_service: RunningService, ledger: Ledger, executed: list[ExecutionId]
) -> None:
    slow, service = sleepy(0.5), own_service.service
    worker = only_worker(service)
    submission = await service.submit(slow)
    ledger[submission] = slow
    await service.until_state("RUNNING", submission)
    watch = Watch(service.fleet)
    watch.look()
    worker.wanted = False
    worker.send(signal.SIGTERM)
    await until(lambda: worker.said("worker.draining"))
    assert await service.fleet.leave(worker) == 0
    assert await service.value(GONE, worker.pid)
    events = await service.events(submission)
    assert events == ["submit", "publish", "start", "rescue"]
    await watch.nothing_is_left(service.directory)
    start_worker(service)
    await until_all_ended(service, ledger)
    assert (await service.events(submission))[-2:] == ["start", "complete"]
    await until_at_rest(service)
    await assert_exactly_once(service, ledger, executed)


async def test_a_worker_told_to_end_does_not_wait_for_people_at_terminals(
    own_service: RunningService, executed: list[ExecutionId]
) -> None:
    """Another worker starts the program again, with what was typed before."""
    service = own_service.service
    worker = only_worker(service)
    source = "print('hi', input('name? '), input())"
    execution = await service.execute("python3", source, io=ProgramIo.TERMINAL)
    executed.append(execution)

    async def has_output() -> bool:
        output = "SELECT count(*) FROM execution_output WHERE work_id = $1"
        return bool(await service.value(output, execution))

    await until(has_output)
    async with connection(service.pool) as acquired:
        await executions.add_input(acquired, execution, "data", b"ada\n")
    watch = Watch(service.fleet)
    watch.look()
    assert await service.fleet.leave(worker) == 0
    assert (await service.events(execution))[2:4] == ["start", "rescue"]
    await watch.nothing_is_left(service.directory)
    start_worker(service)
    async with connection(service.pool) as acquired:
        await executions.add_input(acquired, execution, "data", b"bob\n")
    shown = await service.execution(execution)
    assert shown.output[Stream.STDOUT].endswith(b"hi ada bob\r\n")


async def test_a_worker_drained_by_an_admin_stays_idle_until_it_is_resumed(
    own_service: RunningService, ledger: Ledger, executed: list[ExecutionId]
) -> None:
    """By a request to the API: it finishes what it runs, and its row stays."""
    slow, service = sleepy(0.3), own_service.service
    async with client_of(service, own_service.address.port) as client:
        member = only_worker(service)
        running = await service.submit(slow)
        await service.until_state("RUNNING", running)
        worker = await service.value("SELECT id FROM worker WHERE gone_at IS NULL")
        assert (await client.post(f"/v1/admin/workers/{worker}/drain"))["draining_at"]
        await until(lambda: member.said("worker.paused"))
        waiting = await service.submit(RIGHT)
        ledger |= {running: slow, waiting: RIGHT}
        await service.until_state("COMPLETED", running)
        await until_beaten(service, worker, times=3)
        assert await service.events(running) == ["submit", "publish", "start", "complete"]
        assert await service.events(waiting) == ["submit", "publish"]
        assert member.is_running
        assert await service.value(STAYS, worker) == 1
        assert (await client.post(f"/v1/admin/workers/{worker}/resume"))["draining_at"] is None
        await until_all_ended(service, ledger)
        await client.post(f"/v1/admin/workers/{worker}/drain")
        await until(lambda: len(member.said("worker.paused")) == 2)
        assert await service.fleet.leave(member) == 0, "a signal ends it all the same"
        await until_at_rest(service)
        await assert_exactly_once(service, ledger, executed)


async def until_beaten(service: Service, worker: str, *, times: int) -> None:
    """Time enough to take what it should leave alone: it looks more often than it beats."""
    seen: set[object] = set()

    async def look() -> bool:
        seen.add(await service.value("SELECT seen_at FROM worker WHERE id = $1", worker))
        return len(seen) > times

    await until(look)
