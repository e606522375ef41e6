"""O6: a revoked token ends its stream, even if the address reached its limit."""

import asyncio

import pytest
from fastapi import FastAPI

from deemster.api.app import create_app
from deemster.api.auth import credential_cache
from deemster.api.feed import stream
from deemster.store.pool import Pool, connection
from tests.api.conftest import Api, MakeDependencies
from tests.api.feed.event_client import open_stream


@pytest.fixture
def app(make_dependencies: MakeDependencies, monkeypatch: pytest.MonkeyPatch) -> FastAPI:
    monkeypatch.setattr(stream, "HEARTBEAT_S", 0.02)
    monkeypatch.setattr(credential_cache, "KEPT_S", 0.0)
    return create_app(make_dependencies(refused_logins_per_minute_ip=1))


async def test_a_revoked_token_ends_its_stream_even_under_the_limit_of_unknown_tokens(
    ada: Api, pool: Pool
) -> None:
    bad = {"Authorization": "Bearer nobody"}
    async with open_stream(ada, "/v1/events") as stream_client:
        assert await stream_client.block()
        answers = [await ada.client.get("/v1/session", headers=bad) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [401, 429]
        async with connection(pool) as acquired:
            await acquired.execute("UPDATE token SET revoked_at = now()")
        async with asyncio.timeout(30):  # less than the minute in which one more is let in
            assert await stream_client.rest() == []
