"""The real app over a real database and a real queue, called as clients call it."""

import hashlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog
from argon2 import PasswordHasher
from fastapi import FastAPI
from structlog.typing import EventDict

from deemster.api.app import create_app
from deemster.api.auth import auth
from deemster.api.auth.passwords import Passwords
from deemster.api.dependencies import Dependencies
from deemster.cache.cache import Cache
from deemster.domain.account import Role
from deemster.domain.ids import WORKER, AccountId, RevisionDigest, WorkerId, new_id
from deemster.limits.rate_limiter import MemoryRateLimiter
from deemster.pipeline.accept.available_languages import AvailableLanguages
from deemster.pipeline.accept.executions import ExecutionAccept
from deemster.pipeline.accept.submissions import AcceptService
from deemster.pipeline.queue.producer import Producer
from deemster.programs.build.languages import load_catalogue
from deemster.settings.ceilings import ceiling_of
from deemster.store import accounts, problems, workers
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool, connection
from deemster.store.problems import ProblemSummary
from deemster.wiring.problems import open_importer
from tests.api.given_settings import GivenSettings
from tests.builders import make_artifacts, make_problem

CATALOGUE = load_catalogue()
QUICK = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


@pytest.fixture(autouse=True)
def log_lines() -> Iterator[Sequence[EventDict]]:
    """The log entries of the test."""
    capture = structlog.testing.LogCapture()
    structlog.configure(processors=[structlog.contextvars.merge_contextvars, capture])
    yield capture.entries
    structlog.reset_defaults()


@pytest.fixture
def artifacts(tmp_path: Path) -> Artifacts:
    return make_artifacts(tmp_path / "artifacts")


@pytest.fixture
async def producer(redis_url: str, queue_env: str) -> AsyncIterator[Producer]:
    async with Producer.open(redis_url, queue_env) as opened:
        yield opened


@pytest.fixture
async def cache(queue_env: str) -> AsyncIterator[Cache]:
    async with Cache.open(None, queue_env) as opened:
        yield opened


@pytest.fixture(autouse=True)
def quick_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords are hashed with small parameters, because tests log in often."""
    monkeypatch.setattr(auth, "Passwords", partial(Passwords, QUICK))


MakeDependencies = Callable[..., Dependencies]


@pytest.fixture
def make_dependencies(
    pool: Pool, artifacts: Artifacts, producer: Producer, cache: Cache, tmp_path: Path
) -> MakeDependencies:
    def make(**settings: Any) -> Dependencies:
        # Most tests submit repeatedly; tests of the limits set them.
        defaults = {"submit_interval_s": 0, "requests_per_second_user": 100_000, **settings}
        given = GivenSettings(data_dir=tmp_path, work_dir=tmp_path / "work", **defaults)
        languages = AvailableLanguages(pool, given.judge_on)
        accept = AcceptService(
            pool,
            artifacts,
            CATALOGUE,
            languages,
            on_accepted=lambda: None,
            interval_s=given.submit_interval_s,
            daily_quota=given.daily_quota,
        )
        return Dependencies(
            pool=pool,
            accept=accept,
            accept_executions=ExecutionAccept(
                pool, CATALOGUE, languages, most=ceiling_of(given), on_accepted=lambda: None
            ),
            artifacts=artifacts,
            catalogue=CATALOGUE,
            settings=given,
            secret=b"a secret for tests",
            rate_limiter=MemoryRateLimiter(),
            cache=cache,
            ping_queue=producer.ping,
            queues=producer,
            importer=open_importer(given, pool),
            async_commit_pool=pool,
        )

    return make


@asynccontextmanager
async def running(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """A client without a token; the app's background tasks run."""
    transport = httpx.ASGITransport(app=app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://judge") as client,
    ):
        yield client


@dataclass(frozen=True, slots=True)
class User:
    id: AccountId
    name: str
    token: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


@dataclass(frozen=True, slots=True)
class Api:
    """The app as one user sees it."""

    client: httpx.AsyncClient
    user: User

    async def get(self, path: str, **options: Any) -> httpx.Response:
        """Reads after the app has seen what the test wrote directly to the database."""
        await catch_up_with_events(self.client)
        return await self.client.get(path, headers=self.user.headers, **options)

    async def delete(self, path: str) -> httpx.Response:
        return await self.client.delete(path, headers=self.user.headers)

    async def put(self, path: str, body: object) -> httpx.Response:
        return await self.client.put(path, json=body, headers=self.user.headers)

    async def post(
        self, path: str, body: object = None, *, key: str | None = None
    ) -> httpx.Response:
        headers = dict(self.user.headers)
        if key is not None:
            headers["Idempotency-Key"] = key
        return await self.client.post(path, json=body, headers=headers)

    async def show(self, submission: str) -> dict[str, Any]:
        answer = await self.get(f"/v1/submissions/{submission}")
        assert answer.status_code == 200, answer.text
        shown: dict[str, Any] = answer.json()
        return shown


async def catch_up_with_events(client: httpx.AsyncClient) -> None:
    transport = client._transport
    if isinstance(transport, httpx.ASGITransport):
        app: Any = transport.app
        await app.state.app_state.feed.catch_up()
        app.state.app_state.cache_invalidation.forget_problems()


async def make_user(pool: Pool, name: str, role: Role = Role.USER) -> User:
    async with connection(pool) as acquired:
        account = await accounts.add(acquired, name, role)
        token = await accounts.add_token(acquired, account.id, "for tests")
    return User(account.id, name, token)


async def make_worker(
    pool: Pool, *languages: str, slots: int = 2, version: str = "1.0"
) -> WorkerId:
    worker = WorkerId(new_id(WORKER))
    async with connection(pool) as acquired:
        await workers.register(
            acquired,
            worker,
            host="here",
            process="1",
            slots=slots,
            versions=dict.fromkeys(languages or ("python3", "cpp"), version),
        )
    return worker


@pytest.fixture
def app(make_dependencies: MakeDependencies) -> FastAPI:
    return create_app(make_dependencies())


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with running(app) as opened:
        yield opened


@pytest.fixture
async def ada(client: httpx.AsyncClient, pool: Pool) -> Api:
    return Api(client, await make_user(pool, "ada"))


@pytest.fixture
async def bob(client: httpx.AsyncClient, pool: Pool) -> Api:
    return Api(client, await make_user(pool, "bob"))


@pytest.fixture
async def admin(client: httpx.AsyncClient, pool: Pool) -> Api:
    return Api(client, await make_user(pool, "root", Role.ADMIN))


async def change_problem(pool: Pool, **changes: Any) -> ProblemSummary:
    """Publishes a changed revision of the usual problem, or a similar problem."""
    summary = await make_problem(pool)
    digest = RevisionDigest(hashlib.sha256(repr(changes).encode()).hexdigest())
    changed = replace(summary, **{"digest": digest, **changes})
    async with connection(pool) as acquired, acquired.transaction():
        await problems.publish(acquired, changed)
    return changed


def program(problem: str = "prob_sum", **more: Any) -> dict[str, Any]:
    """The body of a submission."""
    return {
        "problem_id": problem,
        "language": "python3",
        "source_code": "print(1)\n",
        **more,
    }
