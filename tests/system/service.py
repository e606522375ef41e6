"""A whole service for a test: real servers, real processes, the problem `prob_aplusb`."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import asyncpg
import redis.asyncio as redis_client

from deemster.api.executions import ShownExecution
from deemster.domain.errors import Unavailable
from deemster.domain.execution import ExecutionLimits
from deemster.domain.ids import ExecutionId, ProblemId, SubmissionId, WorkId
from deemster.domain.job import PriorityClass, QueueName
from deemster.domain.lifecycle import TERMINAL
from deemster.domain.submission import SubmissionView
from deemster.pipeline.accept.available_languages import AvailableLanguages
from deemster.pipeline.accept.executions import ExecuteRequest, ExecutionAccept
from deemster.pipeline.accept.submissions import AcceptService, SubmitRequest
from deemster.pipeline.queue.producer import Producer
from deemster.pipeline.queue.stores import open_engine
from deemster.pipeline.queue.topology import postgres_schema, redis_prefix
from deemster.problems.archive import Bounds
from deemster.problems.distribution import RevisionDistributor
from deemster.problems.revision import RevisionStore
from deemster.problems.summary import summary_of
from deemster.programs.build.languages import load_catalogue
from deemster.store import executions, problems, submissions
from deemster.store.artifacts import Artifacts
from deemster.store.notifications import OUTBOX_CHANNEL, Notifier
from deemster.store.pool import Pool, connection, open_pool
from tests.builders import make_person
from tests.system.fleet import Fleet
from tests.system.programs import PACKAGE, Program
from tests.waiting import until

PROBLEM = ProblemId("prob_aplusb")
LEASE_S = 3
LOOK_S = 0.01
ROOM = 1 << 30
LIVING = "SELECT split_part(process, ':', 2)::int AS pid FROM worker WHERE gone_at IS NULL"
SESSIONS = "SELECT application_name FROM pg_stat_activity WHERE datname = current_database()"


@dataclass(slots=True)
class Service:
    directory: Path
    database_url: str
    queue_url: str
    env: str
    pool: Pool
    accept: AcceptService
    accept_executions: ExecutionAccept
    fleet: Fleet

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        directory: Path,
        database_url: str,
        queue_url: str,
        env: str,
        *,
        time_ms: int = 2000,
        **settings: object,
    ) -> AsyncIterator[Self]:
        """Nothing runs yet; `settings` hold for all that is started in its fleet."""
        ours = {
            "database_url": database_url,
            "queue_url": queue_url,
            "env": env,
            "data_dir": directory / "data",
            "work_dir": directory / "work",
            "lease_s": LEASE_S,
            "slots": 1,
            "execution_slots": 4,
            "precompile": False,
            "warm_up_mb": 0,
            **settings,
        }
        artifacts = Artifacts.open(None, directory / "data")
        async with (
            open_pool(database_url, name="test", max_size=10) as pool,
            Notifier.open(pool, OUTBOX_CHANNEL) as notifier,
            Fleet.open(directory / "logs", environment(ours)) as fleet,
        ):
            catalogue, wake = load_catalogue(), notifier.notify
            languages = AvailableLanguages(pool)
            accept = AcceptService(pool, artifacts, catalogue, languages, on_accepted=wake)
            accept_executions = ExecutionAccept(
                pool, catalogue, languages, most=ExecutionLimits(), on_accepted=wake
            )
            service = cls(
                directory,
                database_url,
                queue_url,
                env,
                pool,
                accept,
                accept_executions,
                fleet,
            )
            try:
                await service._import_problem(artifacts, time_ms)
                yield service
                assert not fleet.unasked, "\n".join(fleet.unasked)
            except BaseException:
                print(fleet.tails())
                raise

    async def _import_problem(self, artifacts: Artifacts, time_ms: int) -> None:
        store = RevisionStore(self.directory / "data" / "revisions", ROOM, Bounds(ROOM, 1000))
        revision = await store.import_package(PACKAGE)
        await RevisionDistributor(artifacts, store).publish(revision)
        async with connection(self.pool) as acquired, acquired.transaction():
            await problems.publish(acquired, summary_of(revision, PROBLEM, time_ms=time_ms))

    def start(self, *roles: str) -> None:
        for role in roles:
            self.fleet.start(role)

    # -- what clients do --

    async def submit(
        self,
        program: Program,
        *,
        user: str = "ada",
        priority_class: PriorityClass = PriorityClass.PRACTICE,
    ) -> SubmissionId:
        """As the API does, in this process."""
        files = {"": program.source.encode()}
        ask = SubmitRequest(PROBLEM, program.language, files, priority_class=priority_class)
        accepted, _ = await self.accept.submit(await make_person(self.pool, user), ask)
        return accepted.id

    async def execute(
        self, language: str, source: str = "", *, user: str = "ada", **options: Any
    ) -> ExecutionId:
        request = ExecuteRequest(language, **{"files": {"": source.encode()}, **options})
        account = await make_person(self.pool, user)
        accepted, _ = await self.accept_executions.execute(account, request)
        return accepted.id

    async def execution(self, execution: ExecutionId) -> ShownExecution:
        """The execution, when it has ended."""

        async def look() -> ShownExecution | None:
            async with connection(self.pool) as acquired:
                view = await executions.get(acquired, execution)
                assert view is not None
                return ShownExecution(view, await executions.whole_output(acquired, execution))

        async def ended() -> ShownExecution | None:
            found = await look()
            return found if found is not None and found.view.state in TERMINAL else None

        found = await until(ended)
        assert found is not None
        return found

    # -- what can be seen --

    async def fetch(self, statement: str, *values: object) -> list[Any]:
        """Rows, also of a server that is just away."""

        async def look() -> list[Any] | None:
            try:
                async with connection(self.pool) as acquired:
                    return [tuple(await acquired.fetch(statement, *values))]
            except Unavailable:
                return None

        found = await until(look)
        return list(found[0])

    async def value(self, statement: str, *values: object) -> Any:
        rows = await self.fetch(statement, *values)
        return rows[0][0] if rows else None

    async def view(self, submission: SubmissionId) -> SubmissionView:
        async with connection(self.pool) as acquired:
            found = await submissions.get(acquired, submission)
        assert found is not None, submission
        return found

    async def events(self, submission: WorkId) -> list[str]:
        rows = await self.fetch(
            "SELECT event FROM work_event WHERE work_id = $1 ORDER BY id",
            submission,
        )
        return [row["event"] for row in rows]

    async def until_state(self, state: str, *wanted: SubmissionId) -> None:
        """Waits until all of these are in that state."""

        async def look() -> bool:
            statement = "SELECT id FROM submission WHERE id = ANY ($1) AND state = $2"
            return len(await self.fetch(statement, list(wanted), state)) == len(wanted)

        await until(look)

    async def until_workers(self, count: int) -> None:
        """Waits until so many live."""
        statement = "SELECT count(*) FROM worker WHERE gone_at IS NULL"

        async def look() -> bool:
            return bool(await self.value(statement) >= count)

        await until(look)

    async def until_all_listen(self) -> None:
        """Waits until whoever is told to end now will hear it."""

        async def look() -> bool:
            here = {member.pid for member in self.fleet.running("worker")}
            registered = {row["pid"] for row in await self.fetch(LIVING)}
            names = {row["application_name"] for row in await self.fetch(SESSIONS)}
            return here <= registered and {"deemster relay", "deemster keeper"} <= names

        await until(look)

    async def job_rows(self) -> list[str]:
        """The jobs of a queue in Postgres that are not over, for messages."""
        if not self.queue_url.startswith("postgres"):
            return []
        schema = postgres_schema(self.env)
        unfinished = "state::text NOT IN ('completed', 'failed')"
        found = await self.fetch(f'SELECT j::text FROM "{schema}".job j WHERE {unfinished}')
        return [row[0] for row in found]

    async def let_locks_run_out(self) -> None:
        """Puts the queue's clock forward: a dead worker's jobs are locked for a minute yet."""
        if self.queue_url.startswith("postgres"):
            schema = postgres_schema(self.env)
            async with connection(self.pool) as acquired:
                with suppress(asyncpg.UndefinedTableError):
                    await acquired.execute(f'UPDATE "{schema}".job SET locked_until_ms = 0')
        else:
            await self._delete_keys("lock")
        engine = open_engine(self.queue_url, self.env, "test")
        try:
            for _ in range(2):  # the first time marks, the second moves
                if not self.queue_url.startswith("postgres"):
                    await self._delete_keys("stalled-check")  # when this was last done
                for queue in QueueName:
                    await engine.rescue(queue, every_s=LOOK_S)
        finally:
            await engine.close()

    async def _delete_keys(self, last: str) -> None:
        async with redis_client.from_url(self.queue_url) as client:
            async for key in client.scan_iter(match=f"{redis_prefix(self.env)}:*:{last}"):
                await client.delete(key)

    async def jobs(self) -> int:
        """How many the queue holds that are not over."""
        async with Producer.open(self.queue_url, self.env) as producer:
            depths = (await producer.depths()).values()
        return sum(depth.waiting + depth.active + depth.delayed for depth in depths)


def environment(settings: dict[str, object]) -> dict[str, str]:
    """Of this process only what is no setting."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("DEEMSTER_") or name == "DEEMSTER_RUNNER"
    }
    return inherited | {
        f"DEEMSTER_{name.upper()}": str(each) for name, each in settings.items()
    }
