"""O3: /healthz checks the process, /readyz each part."""

import asyncio
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from deemster.api.app import create_app
from deemster.api.dependencies import Dependencies
from deemster.api.health import TIMEOUT_S
from deemster.cache.cache import Cache
from deemster.limits.rate_limiter import MemoryRateLimiter
from deemster.pipeline.accept.available_languages import AvailableLanguages
from deemster.pipeline.accept.executions import ExecutionAccept
from deemster.pipeline.accept.submissions import AcceptService
from deemster.pipeline.queue.producer import Producer
from deemster.settings import Settings
from deemster.settings.ceilings import ceiling_of
from deemster.store.artifacts import Artifacts
from deemster.store.migrations import migrate
from deemster.store.pool import Pool, open_pool
from deemster.wiring.problems import open_importer
from tests.api.conftest import (
    CATALOGUE,
    Api,
    MakeDependencies,
    make_user,
    make_worker,
    program,
    running,
)
from tests.builders import make_artifacts, make_problem
from tests.services.postgres import OwnPostgres
from tests.services.redis import OwnRedis
from tests.waiting import until

PARTS = {"database", "queue", "workers", "artifacts"}


async def test_healthz_needs_no_other_part(client: httpx.AsyncClient) -> None:
    answer = await client.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"alive": True})


async def test_readyz_reports_each_part(client: httpx.AsyncClient, pool: Pool) -> None:
    await make_worker(pool, slots=3)
    answer = await client.get("/readyz")
    body = answer.json()
    assert (answer.status_code, body.pop("ready")) == (200, True)
    assert set(body) == PARTS
    assert all(part["ok"] for part in body.values())
    assert body["workers"]["detail"] == "1 with 3 slots"


async def test_a_judge_without_workers_says_so_and_stays_ready(
    client: httpx.AsyncClient, admin: Api, pool: Pool
) -> None:
    """Q15: it accepts submissions and shows results, so a load balancer must not drop it."""
    answer = await client.get("/readyz")
    assert (answer.status_code, answer.json()["ready"]) == (200, True)
    assert answer.json()["workers"] == {"ok": False, "detail": "no worker takes jobs"}
    worker = await make_worker(pool)
    assert (await admin.post(f"/v1/admin/workers/{worker}/drain")).status_code == 200

    async def is_told() -> bool:
        shown = (await client.get("/readyz")).json()["workers"]
        return bool(shown == {"ok": False, "detail": "no worker takes jobs; 1 drained"})

    await until(is_told)
    assert (await client.get("/readyz")).status_code == 200


async def test_a_missing_artifact_directory_is_reported(
    client: httpx.AsyncClient, pool: Pool, tmp_path: Path
) -> None:
    await make_worker(pool)
    (tmp_path / "artifacts").write_text("no directory any more")
    body = (await client.get("/readyz")).json()
    assert not body["artifacts"]["ok"]
    assert str(tmp_path) not in str(body)


async def test_a_part_that_hangs_does_not_block_the_report(
    make_dependencies: MakeDependencies, pool: Pool, artifacts: Artifacts, tmp_path: Path
) -> None:
    """A queue store that accepts connections but never answers."""
    silent = asyncio.Event()

    async def say_nothing(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await silent.wait()
        writer.close()

    server = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    await make_worker(pool)
    async with server, Producer.open(f"redis://127.0.0.1:{port}/0", "hung") as producer:
        given = make_dependencies()
        dependencies = replace(given, ping_queue=producer.ping)
        async with running(create_app(dependencies)) as client:
            answer = await client.get("/readyz")
        silent.set()
    body = answer.json()
    assert answer.status_code == 503
    assert body["queue"] == {"ok": False, "detail": f"no answer within {TIMEOUT_S:g} s"}
    assert body["database"]["ok"]


async def test_stopped_servers_are_named_and_recover(tmp_path: Path) -> None:
    """O3, A6, Q2: no secret is shown, and submissions are accepted while the queue is down."""
    async with (
        OwnPostgres(tmp_path / "data") as postgres,
        OwnRedis(tmp_path / "redis") as redis,
    ):
        await migrate(postgres.url)
        async with (
            open_pool(postgres.url, name="test") as pool,
            Producer.open(redis.url, "test") as producer,
            Cache.open(None, "test") as cache,
        ):
            artifacts = make_artifacts(tmp_path / "artifacts")
            accept = AcceptService(
                pool, artifacts, CATALOGUE, AvailableLanguages(pool), on_accepted=lambda: None
            )
            settings = Settings(data_dir=tmp_path, work_dir=tmp_path)
            dependencies = Dependencies(
                pool,
                accept,
                ExecutionAccept(
                    pool,
                    CATALOGUE,
                    AvailableLanguages(pool),
                    most=ceiling_of(settings),
                    on_accepted=lambda: None,
                ),
                artifacts,
                CATALOGUE,
                settings,
                b"secret",
                MemoryRateLimiter(),
                cache,
                producer.ping,
                producer,
                open_importer(settings, pool),
                pool,
            )
            ada = await make_user(pool, "ada")
            await make_problem(pool)
            await make_worker(pool)
            async with running(create_app(dependencies)) as client:
                api = Api(client, ada)
                await ready(client)
                await redis.stop()
                body = await not_ready(client, "queue")
                assert body["database"]["ok"]
                assert str(redis.url) not in str(body)
                accepted = await api.post("/v1/submissions", program())
                assert accepted.status_code == 202
                await postgres.stop()
                body = await not_ready(client, "database")
                assert not body["workers"]["ok"]
                assert str(tmp_path) not in str(body)
                answer = await api.post("/v1/submissions", program())
                assert answer.status_code == 503
                assert answer.json()["type"] == "urn:deemster:error:database_down"
                assert int(answer.headers["retry-after"]) > 0
                assert "postgres" not in answer.text.lower()
                assert (await client.get("/healthz")).status_code == 200
                await postgres.start()
                await redis.start()
                await ready(client)
                found = await api.get(accepted.headers["location"])
                assert found.status_code == 200


async def ready(client: httpx.AsyncClient) -> None:
    async def is_ready() -> bool:
        return (await client.get("/readyz")).status_code == 200

    await until(is_ready)


async def not_ready(client: httpx.AsyncClient, part: str) -> dict[str, dict[str, object]]:
    answer = await client.get("/readyz")

    async def is_down() -> bool:
        nonlocal answer
        answer = await client.get("/readyz")
        return not answer.json()[part]["ok"]

    await until(is_down)
    assert answer.status_code == 503
    body: dict[str, dict[str, object]] = answer.json()
    return body


@pytest.mark.parametrize("path", ["/", "/docs", "/openapi.json"])
async def test_the_root_and_the_docs_answer_without_a_token(
    client: httpx.AsyncClient, path: str
) -> None:
    answer = await client.get(path)
    assert answer.status_code == 200
    assert "/openapi.json" in answer.text or path == "/openapi.json"
