"""H1: a stream survives an outage of the database, and sends missed events afterwards."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from deemster.api.auth import credential_cache
from deemster.api.feed import stream
from deemster.domain.errors import Unavailable
from deemster.store.artifacts import Artifacts
from deemster.store.migrations import migrate
from deemster.store.pool import Pool, ping
from tests.api.conftest import Api
from tests.api.feed.event_client import finish, open_stream
from tests.api.feed.terminal_client import open_terminal
from tests.builders import make_execution, make_submission
from tests.services.postgres import OwnPostgres
from tests.waiting import until


@pytest.fixture
async def postgres(tmp_path: Path) -> AsyncIterator[OwnPostgres]:
    async with OwnPostgres(tmp_path / "server") as server:
        await migrate(server.url)
        yield server


@pytest.fixture
def database_url(postgres: OwnPostgres) -> str:
    """Replaces the shared server, which must not be stopped."""
    return postgres.url


async def is_back(pool: Pool) -> bool:
    try:
        await ping(pool)
    except Unavailable:
        return False
    return True


async def test_streams_survive_a_restart_of_the_database(
    ada: Api,
    pool: Pool,
    artifacts: Artifacts,
    postgres: OwnPostgres,
    monkeypatch: pytest.MonkeyPatch,
    log_lines: Sequence[dict[str, Any]],
) -> None:
    monkeypatch.setattr(stream, "HEARTBEAT_S", 0.02)
    monkeypatch.setattr(credential_cache, "KEPT_S", 0.0)
    submission = await make_submission(pool, ada.user.id)
    path = f"/v1/submissions/{submission}/events"
    async with open_stream(ada, "/v1/events") as of_all, open_stream(ada, path) as of_one:
        opening = await of_all.block()
        assert (await of_one.event()).content["state"] == "pending"
        await postgres.stop()
        await until(lambda: "events.interrupted" in [each["event"] for each in log_lines])
        assert await of_one.block(), "a heartbeat, though nobody can say who listens"
        refused = await ada.client.get("/v1/events", headers=ada.user.headers)
        assert refused.status_code == 503
        await postgres.start()
        await until(lambda: is_back(pool))
        await finish(pool, artifacts, submission)

        result = await of_one.rest()
        assert [each.content["state"] for each in result] == ["queued", "running", "completed"]
        received = [await of_all.event() for _ in range(3)]
        if received[0].content["state"] == "pending":  # it listened from before that
            received = [*received[1:], await of_all.event()]
        assert [each.id for each in received] == [each.id for each in result]
    assert opening is not None
    async with open_stream(ada, "/v1/events", opening.id) as stream_client:
        again = await stream_client.event()
        while again.content["state"] == "pending":
            again = await stream_client.event()
        assert again == received[0]


async def test_a_terminal_is_closed_if_what_was_typed_cannot_be_stored(
    ada: Api, pool: Pool, postgres: OwnPostgres
) -> None:
    """The client comes back, and types again what was not confirmed."""
    execution = await make_execution(pool, ada.user.id)
    async with open_terminal(ada, execution) as client:
        await client.send(data="a", key="1")
        await client.message("typed")
        await postgres.stop()
        await client.send(data="b", key="2")
        assert await client.close_code() == 1013
    await postgres.start()
    await until(lambda: is_back(pool))
    async with open_terminal(ada, execution) as client:
        await client.send(data="b", key="2")
        await client.message("typed")
