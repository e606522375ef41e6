"""Q14: a worker that is told to end finishes or gives back, and leaves nothing behind."""

import signal
from pathlib import Path

from deemster.domain.execution import ProgramIo, Stream
from deemster.store import executions
from deemster.store.pool import connection
from tests.services.ports import reserved_port
from tests.system.client import client_of
from tests.system.conftest import OpenService
from tests.system.programs import RIGHT, sleepy
from tests.system.service import Service
from tests.system.traces import Watch
from tests.system.truth import assert_exactly_once, until_all_ended, until_at_rest
from tests.waiting import until

STAYS = "SELECT count(*) FROM worker WHERE id = $1 AND gone_at IS NULL AND busy = 0"
GONE = "SELECT count(*) FROM worker WHERE gone_at IS NOT NULL AND draining_at IS NOT NULL"


async def test_a_worker_told_to_end_finishes_what_it_runs_and_takes_no_more(
    open_service: OpenService, tmp_path: Path
) -> None:
    slow = sleepy(0.3)
    async with open_service() as service:
        service.start("relay", "keeper")
        worker = service.fleet.start("worker", "first")
        running = await service.submit(slow)
        await service.until_state("RUNNING", running)
        waiting = await service.submit(RIGHT)
        await service.until_state("QUEUED", waiting)
        watch = Watch(service.fleet)
        watch.look()
        assert await service.fleet.leave(worker) == 0
        assert await service.value(GONE) == 1
        assert await service.events(running) == ["submit", "publish", "start", "complete"]
        assert await service.events(waiting) == ["submit", "publish"]
        await watch.nothing_is_left(tmp_path)
        service.fleet.start("worker", "second")
        ledger = {running: slow, waiting: RIGHT}
        await until_all_ended(service, ledger)
        await until_at_rest(service)
        await assert_exactly_once(service, ledger)


async def test_a_second_signal_gives_the_run_back_at_once_and_another_judges_it(
    open_service: OpenService, tmp_path: Path
) -> None:
    slow = sleepy(0.5)
    async with open_service() as service:
        service.start("relay", "keeper")
        worker = service.fleet.start("worker", "first")
        submission = await service.submit(slow)
        await service.until_state("RUNNING", submission)
        watch = Watch(service.fleet)
        watch.look()
        worker.wanted = False
        worker.send(signal.SIGTERM)
        await until(lambda: worker.said("worker.draining"))
        assert await service.fleet.leave(worker) == 0
        assert await service.value(GONE) == 1
        events = await service.events(submission)
        assert events == ["submit", "publish", "start", "rescue"]
        await watch.nothing_is_left(tmp_path)
        service.fleet.start("worker", "second")
        await until_all_ended(service, {submission: slow})
        assert (await service.events(submission))[-2:] == ["start", "complete"]
        await until_at_rest(service)
        await assert_exactly_once(service, {submission: slow})


async def test_a_worker_told_to_end_does_not_wait_for_people_at_terminals(
    open_service: OpenService, tmp_path: Path
) -> None:
    """Another worker starts the program again, with what was typed before."""
    async with open_service() as service:
        service.start("relay", "keeper")
        worker = service.fleet.start("worker", "first")
        source = "print('hi', input('name? '), input())"
        execution = await service.execute("python3", source, io=ProgramIo.TERMINAL)

        async def has_output() -> bool:
            return bool(await service.value("SELECT count(*) FROM execution_output"))

        await until(has_output)
        async with connection(service.pool) as acquired:
            await executions.add_input(acquired, execution, "data", b"ada\n")
        watch = Watch(service.fleet)
        watch.look()
        assert await service.fleet.leave(worker) == 0
        assert (await service.events(execution))[2:4] == ["start", "rescue"]
        await watch.nothing_is_left(tmp_path)
        service.fleet.start("worker", "second")
        async with connection(service.pool) as acquired:
            await executions.add_input(acquired, execution, "data", b"bob\n")
        shown = await service.execution(execution)
        assert shown.output[Stream.STDOUT].endswith(b"hi ada bob\r\n")


async def test_a_worker_drained_by_an_admin_stays_idle_until_it_is_resumed(
    open_service: OpenService,
) -> None:
    """By a request to the API: it finishes what it runs, and its row stays."""
    slow, port = sleepy(0.3), reserved_port()
    async with open_service(port=port) as service, client_of(service, port) as client:
        service.start("api", "relay", "keeper")
        member = service.fleet.start("worker")
        running = await service.submit(slow)
        await service.until_state("RUNNING", running)
        worker = await service.value("SELECT id FROM worker WHERE gone_at IS NULL")
        assert (await client.post(f"/v1/admin/workers/{worker}/drain"))["draining_at"]
        await until(lambda: member.said("worker.paused"))
        waiting = await service.submit(RIGHT)
        await service.until_state("COMPLETED", running)
        await until_beaten(service, worker, times=3)
        assert await service.events(running) == ["submit", "publish", "start", "complete"]
        assert await service.events(waiting) == ["submit", "publish"]
        assert member.is_running
        assert await service.value(STAYS, worker) == 1
        assert (await client.post(f"/v1/admin/workers/{worker}/resume"))["draining_at"] is None
        ledger = {running: slow, waiting: RIGHT}
        await until_all_ended(service, ledger)
        await client.post(f"/v1/admin/workers/{worker}/drain")
        await until(lambda: len(member.said("worker.paused")) == 2)
        assert await service.fleet.leave(member) == 0, "a signal ends it all the same"
        await until_at_rest(service)
        await assert_exactly_once(service, ledger)


async def until_beaten(service: Service, worker: str, *, times: int) -> None:
    """Time enough to take what it should leave alone: it looks more often than it beats."""
    seen: set[object] = set()

    async def look() -> bool:
        seen.add(await service.value("SELECT seen_at FROM worker WHERE id = $1", worker))
        return len(seen) > times

    await until(look)
