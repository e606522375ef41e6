"""Servers may be away: nothing is lost, and nobody pays for it."""

import asyncio
from pathlib import Path

import asyncpg

from deemster.domain.errors import Unavailable
from deemster.domain.execution import ProgramIo, Stream
from deemster.store import executions
from deemster.store.migrations import migrate
from deemster.store.pool import Pool, connection, ping
from tests.services.ports import reserved_port
from tests.services.postgres import OwnPostgres
from tests.services.redis import OwnRedis
from tests.system.client import client_of
from tests.system.programs import MIXED, sleepy
from tests.system.service import Service
from tests.system.traces import programs_of
from tests.system.truth import assert_exactly_once, until_all_ended, until_at_rest
from tests.waiting import until

TRIED = "SELECT count(*) FROM outbox WHERE error IS NOT NULL AND sent_at IS NULL"


async def test_with_redis_down_the_api_accepts_and_all_is_judged_when_it_is_back(
    tmp_path: Path, database_url: str, queue_env: str
) -> None:
    """Q2: the queue store is a road, and not where submissions are kept."""
    port = reserved_port()
    async with (
        OwnRedis(tmp_path / "redis") as redis,
        Service.open(tmp_path, database_url, redis.url, queue_env, port=port) as service,
    ):
        await redis.kill()
        service.start("api", "relay", "keeper", "worker")
        async with client_of(service, port) as client:
            ledger = {
                await client.submit(program, f"key-{number}"): program
                for number, program in enumerate(MIXED * 2)
            }

            async def has_tried() -> bool:
                return bool(await service.value(TRIED))

            await until(has_tried)
            for submission in ledger:
                assert (await client.look(submission))["status"] == "queued"
            await redis.start()
            await until_all_ended(service, ledger)
            for submission, program in ledger.items():
                found = await client.look(submission)
                assert (found["status"], found["verdict"]) == ("finished", program.verdict)
        await until_at_rest(service)
        await assert_exactly_once(service, ledger)


async def test_while_the_database_is_away_for_longer_than_a_lease_nobody_loses_their_run(
    tmp_path: Path, redis_url: str, queue_env: str
) -> None:
    """Q5, Q6: whose worker lives is not rescued, though for a while nobody could say so."""
    program = sleepy(1.0)
    lease_s = 2
    async with OwnPostgres(tmp_path / "servers") as postgres:
        await migrate(postgres.url)
        async with Service.open(
            tmp_path, postgres.url, redis_url, queue_env, lease_s=lease_s
        ) as service:
            service.start("relay", "keeper")
            worker = service.fleet.start("worker")
            submission = await service.submit(program)
            await until(lambda: worker.is_running and programs_of(worker.pid))
            await postgres.stop()
            await asyncio.sleep(1.5 * lease_s)  # that the lease is over is the point
            await postgres.start()
            await until_all_ended(service, {submission: program})
            assert await service.events(submission) == [
                *("submit", "publish", "start", "complete"),
            ]
            await until_at_rest(service)
            await assert_exactly_once(service, {submission: program})


async def test_without_a_database_or_its_tables_every_role_starts_and_waits(
    tmp_path: Path,
) -> None:
    """Q2: no role ends by itself, so nobody has to start the servers first."""
    port = reserved_port()
    async with OwnPostgres(tmp_path / "servers") as postgres:
        await migrate(postgres.url)
        opened = Service.open(tmp_path, postgres.url, postgres.url, "outage", port=port)
        async with opened as service, client_of(service, port) as client:
            await execute(postgres.url, "ALTER SCHEMA public RENAME TO hidden")
            await postgres.stop()
            service.start("api", "relay", "keeper", "worker")
            await until(lambda: all_say(service, "ConnectionRefusedError", "FileNotFound"))
            await postgres.start()
            await until(lambda: all_say(service, "UndefinedTableError"))
            await execute(postgres.url, "ALTER SCHEMA hidden RENAME TO public")
            ledger = {
                await client.submit(program, f"key-{number}"): program
                for number, program in enumerate(MIXED)
            }
            await until_all_ended(service, ledger)
        # `Service.open` asserts at its end that no role ended by itself.


def all_say(service: Service, *faults: str) -> bool:
    """Whether every role has told one of these faults."""
    logs = [member.log.read_text() for member in service.fleet.members.values()]
    return all(any(fault in log for fault in faults) for log in logs)


async def execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def is_back(pool: Pool) -> bool:
    try:
        await ping(pool)
    except Unavailable:
        return False
    return True


async def test_output_that_was_stored_survives_a_crash_of_the_database(
    tmp_path: Path, redis_url: str, queue_env: str
) -> None:
    """E8: the program goes on meanwhile, so nobody would write it again."""
    lines = 4
    source = (
        f"import sys\nfor _ in range({lines}): print(sys.stdin.readline(), end='', flush=True)"
    )
    async with OwnPostgres(tmp_path / "servers") as postgres:
        await migrate(postgres.url)
        async with Service.open(tmp_path, postgres.url, redis_url, queue_env) as service:
            service.start("relay", "worker")
            execution = await service.execute("python3", source, io=ProgramIo.STREAMS)
            for number in range(1, lines + 1):
                async with connection(service.pool) as acquired:
                    await executions.add_input(acquired, execution, "data", b"line\n")

                async def is_stored(number: int = number) -> bool:
                    count = "SELECT max(number) FROM execution_output"
                    return (await service.value(count) or 0) >= number

                await until(is_stored)
                await postgres.kill()
                await postgres.start()
                await until(lambda: is_back(service.pool))
            shown = await service.execution(execution)
            assert (shown.view.attempt, shown.output) == (1, {Stream.STDOUT: b"line\n" * lines})
