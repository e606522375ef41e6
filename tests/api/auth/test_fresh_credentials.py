"""O6: cached credentials that were revoked elsewhere can't create new ones."""

import httpx
import pytest
from fastapi import FastAPI

from deemster.api.auth import credential_cache, jwt_auth
from deemster.domain.account import Role
from deemster.store.pool import Pool, connection
from tests.api.auth.issuer_server import AUDIENCE, issuing
from tests.api.browser import browsing, make_person, serving
from tests.api.conftest import Api, MakeDependencies, make_user

SESSION, TOKENS, USERS = "/v1/session", "/v1/tokens", "/v1/admin/users"


@pytest.fixture(autouse=True)
def long_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the tests do not depend on their speed."""
    for module in (credential_cache, jwt_auth):
        monkeypatch.setattr(module, "KEPT_S", 3600.0)


async def elsewhere(pool: Pool, statement: str) -> None:
    """Writes directly, as another process does."""
    async with connection(pool) as acquired:
        await acquired.execute(statement)


async def test_a_revoked_token_can_not_create_a_token(ada: Api, pool: Pool) -> None:
    assert (await ada.get(SESSION)).status_code == 200
    await elsewhere(pool, "UPDATE token SET revoked_at = now()")
    assert (await ada.get(SESSION)).status_code == 200, "it is remembered"
    assert (await ada.post(TOKENS, {"name": "to stay"})).status_code == 401
    assert (await ada.get(SESSION)).status_code == 401, "and now it is known"


async def test_an_ended_session_can_not_create_a_token(
    app: FastAPI, client: httpx.AsyncClient, pool: Pool
) -> None:
    await make_person(pool)
    async with browsing(app) as browser:
        assert (await browser.client.get(SESSION)).status_code == 200
        await elsewhere(pool, "DELETE FROM session")
        assert (await browser.client.get(SESSION)).status_code == 200, "it is remembered"
        assert (await browser.send("POST", TOKENS, {"name": "to stay"})).status_code == 401


async def test_a_former_admin_can_not_create_an_admin(admin: Api, pool: Pool) -> None:
    await make_user(pool, "other", Role.ADMIN)
    assert (await admin.get(SESSION)).json()["user"]["role"] == "admin"
    await elsewhere(pool, "UPDATE account SET role = 'user' WHERE name = 'root'")
    assert (await admin.post(USERS, {"name": "me2", "role": "admin"})).status_code == 403


async def test_a_disabled_account_can_not_create_a_token_with_a_jwt(
    make_dependencies: MakeDependencies, pool: Pool
) -> None:
    async with issuing() as issuer:
        dependencies = make_dependencies(jwt_issuer=issuer.url, jwt_audience=AUDIENCE)
        async with serving(dependencies) as client:
            headers = {"Authorization": f"Bearer {issuer.token()}"}
            assert (await client.get(SESSION, headers=headers)).status_code == 200
            await elsewhere(pool, "UPDATE account SET disabled_at = now()")
            assert (await client.get(SESSION, headers=headers)).status_code == 200
            made = await client.post(TOKENS, json={"name": "to stay"}, headers=headers)
            assert made.status_code == 401
