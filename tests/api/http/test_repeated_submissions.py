"""I1: a repeated key gets the first response, whatever has changed since."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx
import pytest

from deemster.api.app import create_app
from deemster.domain.language import Catalogue
from deemster.pipeline.accept.available_languages import AvailableLanguages
from deemster.pipeline.accept.submissions import AcceptService
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool, connection
from tests.api.conftest import (
    CATALOGUE,
    Api,
    MakeDependencies,
    change_problem,
    make_user,
    make_worker,
    program,
    running,
)
from tests.builders import make_problem

PATH = "/v1/submissions"
ASKED = program(webhook_url="http://127.0.0.1/told")
OTHER = {**ASKED, "source_code": "print(2)"}


@dataclass(frozen=True, slots=True)
class Judge:
    """One database, and API apps with different settings, one after another."""

    make_dependencies: MakeDependencies
    pool: Pool
    artifacts: Artifacts

    @asynccontextmanager
    async def open(
        self, catalogue: Catalogue = CATALOGUE, **settings: Any
    ) -> AsyncIterator[httpx.AsyncClient]:
        given = {"webhook_allow_private": True, **settings}
        dependencies = self.make_dependencies(**given)
        accept = AcceptService(
            self.pool,
            self.artifacts,
            catalogue,
            AvailableLanguages(self.pool),
            on_accepted=lambda: None,
        )
        async with running(create_app(replace(dependencies, accept=accept))) as client:
            yield client


@pytest.fixture
async def judge(make_dependencies: MakeDependencies, pool: Pool, artifacts: Artifacts) -> Judge:
    await make_problem(pool)
    await make_worker(pool)
    return Judge(make_dependencies, pool, artifacts)


async def nothing(_pool: Pool) -> None:
    pass


async def retire(pool: Pool) -> None:
    async with connection(pool) as acquired:
        await acquired.execute("UPDATE problem SET retired_at = now()")


async def shrink(pool: Pool) -> None:
    await change_problem(pool, source_bytes=1)


async def forbid(pool: Pool) -> None:
    await change_problem(pool, languages=("cpp",))


ONLY_C = Catalogue(each for each in CATALOGUE if each.id == "c")
CHANGES: dict[str, tuple[Callable[[Pool], Awaitable[None]], dict[str, Any], int]] = {
    "the problem was retired": (retire, {}, 404),
    "it takes less": (shrink, {}, 422),
    "it takes other languages": (forbid, {}, 422),
    "the language is gone": (nothing, {"catalogue": ONLY_C}, 422),
    "private webhooks are": (nothing, {"webhook_allow_private": False}, 422),
}


@pytest.mark.parametrize("what", CHANGES)
async def test_i1_a_repeat_gets_the_first_response_after_a_change(
    judge: Judge, pool: Pool, what: str
) -> None:
    """I2: the key still belongs to one request."""
    change, settings, refused_with = CHANGES[what]
    ada = await make_user(pool, "ada")
    async with judge.open() as client:
        first = await Api(client, ada).post(PATH, ASKED, key="k")
        assert first.status_code == 202
    await change(pool)
    async with judge.open(**settings) as client:
        api = Api(client, ada)
        assert (await api.post(PATH, ASKED)).status_code == refused_with
        assert (await api.post(PATH, ASKED, key="new")).status_code == refused_with
        again = await api.post(PATH, ASKED, key="k")
        assert (again.status_code, again.json()) == (202, first.json())
        assert again.headers["location"] == first.headers["location"]
        reused = await api.post(PATH, OTHER, key="k")
        assert reused.status_code == 422
        assert reused.json()["type"].endswith("idempotency_key_reused")
        async with connection(pool) as acquired:
            assert await acquired.fetchval("SELECT count(*) FROM submission") == 1


@pytest.mark.parametrize(
    "limit",
    ["submits_per_minute_user", "submits_per_minute_ip", "submits_per_minute_problem"],
)
async def test_d2_i1_a_repeat_is_answered_at_any_rate(
    judge: Judge, pool: Pool, limit: str
) -> None:
    """D2: other requests are still refused."""
    settings: dict[str, Any] = {limit: 1}
    async with judge.open(**settings) as client:
        api = Api(client, await make_user(pool, "ada"))
        first = await api.post(PATH, ASKED, key="k")
        assert first.status_code == 202
        assert (await api.post(PATH, ASKED, key="new")).status_code == 429
        again = await api.post(PATH, ASKED, key="k")
        assert (again.status_code, again.json()) == (202, first.json())
        assert (await api.post(PATH, OTHER, key="k")).status_code == 422
        async with connection(pool) as acquired:
            assert await acquired.fetchval("SELECT count(*) FROM submission") == 1
