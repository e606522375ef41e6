"""Authentication by token."""

import httpx
import pytest

from deemster.store.accounts import TOKEN_PREFIX
from deemster.store.pool import Pool, connection
from tests.api.conftest import Api
from tests.waiting import until


async def test_a_request_without_credentials_is_told_how_to_send_a_token(
    client: httpx.AsyncClient,
) -> None:
    """A6: 401, with the way to authenticate. test_permissions.py tests every path."""
    answer = await client.get("/v1/problems")
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert answer.json()["type"] == "urn:deemster:error:unauthorised"


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        "Basic YTpi",
        "Bearer deem_unknown",
        f"Bearer {TOKEN_PREFIX}{'x' * 50_000}",
        "Bearer deem_ä",
    ],
)
async def test_an_invalid_token_is_refused(client: httpx.AsyncClient, header: str) -> None:
    raw = {b"Authorization": header.encode("latin-1")}
    answer = await client.get("/v1/languages", headers=list(raw.items()))
    assert answer.status_code == 401
    assert TOKEN_PREFIX not in answer.text


async def test_the_authorization_scheme_is_case_insensitive(ada: Api) -> None:
    headers = {"Authorization": f"bearer  {ada.user.token}"}
    assert (await ada.client.get("/v1/languages", headers=headers)).status_code == 200


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE token SET revoked_at = now()",
        "UPDATE token SET expires_at = now()",
        "UPDATE account SET disabled_at = now()",
    ],
)
async def test_a_revoked_or_expired_token_stays_cached_only_briefly(
    ada: Api, pool: Pool, change: str
) -> None:
    """O6."""
    assert (await ada.get("/v1/languages")).status_code == 200
    async with connection(pool) as acquired:
        await acquired.execute(change)
    await until(lambda: answers(ada, 401))


async def test_a_token_that_was_unknown_before_it_was_created_becomes_valid(
    client: httpx.AsyncClient, ada: Api, pool: Pool
) -> None:
    """Unknown tokens are cached too, but not longer than others."""
    async with connection(pool) as acquired:
        digest = await acquired.fetchval("SELECT digest FROM token")
        await acquired.execute("UPDATE token SET digest = $1", bytes(32))
    assert (await ada.get("/v1/languages")).status_code == 401
    async with connection(pool) as acquired:
        await acquired.execute("UPDATE token SET digest = $1", digest)
    await until(lambda: answers(ada, 200))


async def answers(api: Api, status: int) -> bool:
    return (await api.get("/v1/languages")).status_code == status


async def is_noted(pool: Pool) -> bool:
    async with connection(pool) as acquired:
        return await acquired.fetchval("SELECT last_used_at FROM token") is not None


async def test_the_use_of_a_token_is_recorded_in_the_background(ada: Api, pool: Pool) -> None:
    assert not await is_noted(pool)
    assert await answers(ada, 200)
    await until(lambda: is_noted(pool))
