"""I1, I2: a POST with an idempotency key creates its object once."""

import asyncio
import hashlib
from typing import Any

import httpx
import pytest

from deemster.api.models.accounts import UserIn
from deemster.domain.account import Scope
from deemster.store.accounts import add_token
from deemster.store.pool import Pool, connection
from tests.api.conftest import Api, User
from tests.builders import make_problem

MADE: dict[str, dict[str, Any]] = {
    "/v1/admin/users": {"name": "grace"},
    "/v1/tokens": {"name": "for my script", "scopes": ["read"]},
    "/v1/contests": {
        "title": "Finals",
        "opens_at": "2026-01-01T10:00:00Z",
        "closes_at": "2026-01-01T15:00:00Z",
        "problems": ["prob_sum"],
    },
}
TABLES = {"/v1/admin/users": "account", "/v1/tokens": "token", "/v1/contests": "contest"}


async def count(pool: Pool, path: str) -> int:
    async with connection(pool) as acquired:
        found: int = await acquired.fetchval(f"SELECT count(*) FROM {TABLES[path]}")
    return found


@pytest.mark.parametrize("path", MADE)
async def test_i1_many_concurrent_requests_with_one_key_create_one_object(
    pool: Pool, admin: Api, path: str
) -> None:
    await make_problem(pool)
    before = await count(pool, path)
    posts = (admin.post(path, MADE[path], key="k") for _ in range(12))
    answers = await asyncio.gather(*posts)
    again = await admin.post(path, MADE[path], key="k")
    assert {each.status_code for each in answers} == {201}
    assert {each.text for each in answers} == {again.text}
    assert again.status_code == 201
    assert again.headers.get("location") == answers[0].headers.get("location")
    assert await count(pool, path) == before + 1


async def test_i2_a_key_is_valid_for_one_request(pool: Pool, admin: Api) -> None:
    await make_problem(pool)
    assert (await admin.post("/v1/admin/users", {"name": "grace"}, key="k")).status_code == 201
    for path, body in {**MADE, "/v1/admin/users": {"name": "linus"}}.items():
        refused = await admin.post(path, body, key="k")
        assert refused.status_code == 422
        assert refused.json()["type"].endswith("idempotency_key_reused")


async def test_i2_keys_belong_to_the_accounts_that_used_them(
    pool: Pool, admin: Api, ada: Api
) -> None:
    mine = await admin.post("/v1/tokens", MADE["/v1/tokens"], key="k")
    hers = await ada.post("/v1/tokens", MADE["/v1/tokens"], key="k")
    assert mine.json()["token"] != hers.json()["token"]


async def test_i1_a_refused_request_does_not_use_its_key(pool: Pool, admin: Api) -> None:
    assert (await admin.post("/v1/admin/users", {"name": "ada"}, key="first")).is_success
    assert (await admin.post("/v1/admin/users", {"name": "ada"}, key="k")).status_code == 409
    assert (await admin.post("/v1/admin/users", {"name": "bob"}, key="k")).status_code == 201


async def test_o6_a_stored_response_does_not_reveal_its_token(
    pool: Pool, admin: Api, client: httpx.AsyncClient
) -> None:
    token = (await admin.post("/v1/tokens", MADE["/v1/tokens"], key="k")).json()["token"]
    async with connection(pool) as acquired:
        rows = await acquired.fetch("SELECT once::text AS text, sealed FROM once")
    assert rows
    for row in rows:
        assert token not in row["text"]
        assert token.encode() not in row["sealed"]


async def test_o6_no_fast_hash_of_a_password_is_stored(pool: Pool, admin: Api) -> None:
    """Someone who reads the database could test millions of passwords per second."""
    asked = UserIn(name="grace", password="three plain words")
    body = asked.model_dump(exclude_unset=True)
    assert (await admin.post("/v1/admin/users", body, key="k")).status_code == 201
    text = f"POST /v1/admin/users\n{asked.model_dump_json()}"
    async with connection(pool) as acquired:
        kept = await acquired.fetchval("SELECT request_digest FROM once")
    assert kept != hashlib.sha256(text.encode()).digest()
    assert kept != hashlib.sha256(f"once\n{text}".encode()).digest()


async def test_o6_a_token_with_fewer_scopes_does_not_get_the_stored_response(
    pool: Pool, ada: Api
) -> None:
    body = {"name": "for my script"}
    made = await ada.post("/v1/tokens", body, key="k")
    assert made.json()["scopes"] == ["account", "read", "submit"]
    async with connection(pool) as acquired:
        token = await add_token(
            acquired, ada.user.id, "less", scopes=frozenset({Scope.ACCOUNT})
        )
    less = Api(ada.client, User(ada.user.id, "ada", token))
    refused = await less.post("/v1/tokens", body, key="k")
    assert refused.status_code == 422
    assert made.json()["token"] not in refused.text
