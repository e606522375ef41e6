"""O6: whose token was revoked hears no more, however many strangers come from there."""

import asyncio

import pytest
from fastapi import FastAPI

from deemster.api.app import create_app
from deemster.api.auth import credential_cache
from deemster.api.feed import stream
from deemster.store.pool import Pool, connection
from tests.api.conftest import Api, MakeDependencies
from tests.api.events.event_client import listening


@pytest.fixture
def app(make_dependencies: MakeDependencies, monkeypatch: pytest.MonkeyPatch) -> FastAPI:
    monkeypatch.setattr(stream, "HEARTBEAT_S", 0.02)
    monkeypatch.setattr(credential_cache, "KEPT_S", 0.0)
    return create_app(make_dependencies(strangers_per_minute_ip=1))


async def test_who_is_refused_as_one_too_many_is_refused(ada: Api, pool: Pool) -> None:
    bad = {"Authorization": "Bearer nobody"}
    async with listening(ada, "/v1/events") as ear:
        assert await ear.block()
        answers = [await ada.client.get("/v1/session", headers=bad) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [401, 429]
        async with connection(pool) as acquired:
            await acquired.execute("UPDATE token SET revoked_at = now()")
        async with asyncio.timeout(30):  # less than the minute in which one more is let in
            assert await ear.rest() == []
