"""Everything that may happen to a running service, done to it on purpose."""

import os
import random
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

import asyncpg
import redis.asyncio as redis_client

from deemster.pipeline.queue.topology import postgres_schema
from tests.services.postgres import OwnPostgres
from tests.services.redis import OwnRedis
from tests.system.fleet import Member
from tests.system.service import Service
from tests.system.traces import Watch, runners_of
from tests.waiting import until

Act = Callable[[], Awaitable[None]]
HOLDERS = """
SELECT l.work_id, l.attempt, split_part(w.process, ':', 2)::int AS pid
  FROM lease l JOIN worker w ON w.id = l.worker_id
"""
AT_TERMINALS = HOLDERS + " JOIN execution x USING (work_id) WHERE x.io = 'terminal'"
STILL = "SELECT count(*) FROM lease WHERE work_id = $1 AND attempt = $2"


@dataclass(slots=True)
class Mischief:
    service: Service
    watch: Watch
    postgres: OwnPostgres
    redis: OwnRedis | None
    chance: random.Random

    def acts(self) -> dict[str, Act]:
        acts: dict[str, Act] = {
            f"kill -9 of a {role}": self._killing(role)
            for role in ("api", "relay", "keeper", "worker")
        }
        acts |= {
            "kill -9 of a runner": self.kill_runner,
            "a worker asleep past its lease": self.put_worker_to_sleep,
            "Postgres restarted": self.postgres.restart,
            "kill -9 of Postgres": self.kill_postgres,
        }
        if self.redis is not None:
            acts |= {
                "Redis killed, and empty afterwards": self.kill_redis,
                "FLUSHALL": self.flush,
            }
        else:
            acts |= {
                "the queue's schema dropped": self.drop_schema,
                "the queue's jobs truncated": self.truncate,
            }
        return acts

    def _killing(self, role: str) -> Act:
        async def kill() -> None:
            member = await self._some(role)
            self.watch.look()
            await self.service.fleet.kill(member)

        return kill

    async def _some(self, role: str) -> Member:
        """Of the workers, one that has an open terminal, if there is one."""
        running = await until(lambda: self.service.fleet.running(role))
        pids = {row["pid"] for row in await self.service.fetch(AT_TERMINALS)}
        at_terminals = [member for member in running if member.pid in pids]
        return self.chance.choice(at_terminals or running)

    async def kill_runner(self) -> None:
        def look() -> list[int]:
            workers = self.service.fleet.running("worker")
            return [runner for worker in workers for runner in runners_of(worker.pid)]

        runners = await until(look)
        self.watch.look()
        with suppress(ProcessLookupError):
            os.kill(self.chance.choice(runners), signal.SIGKILL)

    async def put_worker_to_sleep(self) -> None:
        """One that has something to lose, until it has lost it."""
        workers = {member.pid: member for member in self.service.fleet.running("worker")}

        async def look() -> list[asyncpg.Record]:
            return [row for row in await self.service.fetch(HOLDERS) if row["pid"] in workers]

        row = self.chance.choice(await until(look))
        sleeper = workers[row["pid"]]
        sleeper.send(signal.SIGSTOP)

        async def is_lost() -> bool:
            held = await self.service.value(STILL, row["work_id"], row["attempt"])
            return bool(held == 0)

        await until(is_lost)
        sleeper.send(signal.SIGCONT)

    async def kill_postgres(self) -> None:
        await self.postgres.kill()
        await self.postgres.start()

    async def kill_redis(self) -> None:
        assert self.redis is not None
        await self.redis.kill()
        await self.redis.start()

    async def flush(self) -> None:
        async with redis_client.from_url(self.service.queue_url) as client:
            await client.flushall()

    async def drop_schema(self) -> None:
        await self._tell_queue(f'DROP SCHEMA IF EXISTS "{self._schema}" CASCADE')

    async def truncate(self) -> None:
        with suppress(asyncpg.UndefinedTableError):  # dropped a moment ago
            await self._tell_queue(f'TRUNCATE "{self._schema}".job CASCADE')

    @property
    def _schema(self) -> str:
        return postgres_schema(self.service.env)

    async def _tell_queue(self, statement: str) -> None:
        """Repeats a statement that Postgres ended, because it waited for a role that waited for
        it: then nothing was disturbed yet.
        """
        connection = await asyncpg.connect(self.service.queue_url)
        try:
            while True:
                with suppress(asyncpg.DeadlockDetectedError):
                    await connection.execute(statement)
                    return
        finally:
            await connection.close()
