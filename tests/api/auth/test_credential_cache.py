"""Recording the use of tokens goes on after errors."""

import asyncio
from collections.abc import Sequence

import pytest
from structlog.typing import EventDict

from deemster.api.auth import credential_cache
from deemster.api.auth.credential_cache import CredentialCache
from deemster.store.accounts import token_digest
from deemster.store.pool import Pool, connection
from tests.api.conftest import make_user
from tests.waiting import until

REFUSE = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'not now'; END $$;
CREATE TRIGGER refused BEFORE UPDATE ON token FOR EACH STATEMENT EXECUTE FUNCTION refuse()"""


async def test_recording_uses_goes_on_after_an_error(
    pool: Pool, log_lines: Sequence[EventDict], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs in the app's task group, so its end would end the process."""
    monkeypatch.setattr(credential_cache, "WRITE_EVERY_S", 0.01)
    digest = token_digest((await make_user(pool, "ada")).token)
    watching = CredentialCache(pool, session_s=60)

    async def use() -> None:
        watching.forget([digest])
        assert await watching.of_token(digest) is not None

    async def is_told() -> bool:
        return "credential_cache.crashed" in {line["event"] for line in log_lines}

    async def is_noted() -> bool:
        await use()
        async with connection(pool) as acquired:
            return bool(await acquired.fetchval("SELECT last_used_at FROM token"))

    async with connection(pool) as acquired:
        await acquired.execute(REFUSE)
    async with asyncio.TaskGroup() as group:
        noting = group.create_task(watching.record_uses())
        await use()
        await until(is_told)
        async with connection(pool) as acquired:
            await acquired.execute("DROP TRIGGER refused ON token")
        await until(is_noted)
        noting.cancel()
