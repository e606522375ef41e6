"""O6: own tokens: they have scopes, are shown once and can be revoked."""

from typing import Any

import pytest

from deemster.domain.account import Role, Scope
from deemster.store import accounts
from deemster.store.accounts import MAX_TOKENS
from deemster.store.pool import Pool, connection
from tests.api.browser import audit_entries
from tests.api.conftest import Api, User
from tests.waiting import until

PATH = "/v1/tokens"


async def scoped(api: Api, pool: Pool, *scopes: Scope) -> Api:
    """The same user, with a token that has fewer scopes."""
    async with connection(pool) as acquired:
        token = await accounts.add_token(
            acquired, api.user.id, "less", scopes=frozenset(scopes)
        )
    return Api(api.client, User(api.user.id, api.user.name, token))


async def test_a_token_is_shown_once_and_has_its_scopes(ada: Api, pool: Pool) -> None:
    made = await ada.post(PATH, {"name": "CI", "scopes": ["read"], "expires_in_days": 7})
    assert made.status_code == 201, made.text
    result = made.json()
    assert result["scopes"] == ["read"]
    assert result["expires_at"] > result["created_at"]
    by_it = Api(ada.client, User(ada.user.id, "ada", result["token"]))
    assert (await by_it.get("/v1/problems")).status_code == 200
    refused = await by_it.get(PATH)
    assert refused.status_code == 403
    assert "the scope account" in refused.json()["detail"]
    listed = (await ada.get(PATH)).json()["items"]
    assert [each["name"] for each in listed] == ["CI", "for tests"]
    assert result["token"] not in str(listed)
    assert "digest" not in str(listed)
    assert (await audit_entries(pool))[-1][:3] == ("ada", "token.make", result["id"])
    assert result["token"] not in str(await audit_entries(pool))


async def test_a_token_can_not_create_one_with_more_scopes(ada: Api, pool: Pool) -> None:
    less = await scoped(ada, pool, Scope.ACCOUNT, Scope.READ)
    refused = await less.post(PATH, {"name": "x", "scopes": ["read", "submit", "admin"]})
    assert refused.status_code == 403
    assert "admin, submit" in refused.json()["detail"]
    made = await less.post(PATH, {"name": "x"})
    assert made.json()["scopes"] == ["account", "read"], "its own, unless result"


async def test_o6_a_token_has_only_the_scopes_of_the_role_by_default(
    ada: Api, admin: Api, pool: Pool
) -> None:
    """O6: also if an admin makes it, or the caller has more scopes."""
    everything = await scoped(ada, pool, *Scope)
    of_ada = f"/v1/admin/users/{ada.user.id}/tokens"
    for caller, path in ((everything, PATH), (admin, of_ada)):
        made = await caller.post(path, {"name": "x"})
        assert made.json()["scopes"] == ["account", "read", "submit"], path
    assert "admin" in (await admin.post(PATH, {"name": "x"})).json()["scopes"]


async def test_a_revoked_token_is_invalid_at_once(ada: Api, pool: Pool) -> None:
    made = (await ada.post(PATH, {"name": "x"})).json()
    by_it = Api(ada.client, User(ada.user.id, "ada", made["token"]))
    assert (await by_it.get(PATH)).status_code == 200
    revoked = await ada.delete(f"{PATH}/{made['id']}")
    assert revoked.status_code == 200
    assert revoked.json()["revoked"] is True
    assert (await by_it.get(PATH)).status_code == 401
    assert (await ada.delete(f"{PATH}/{made['id']}")).status_code == 200, "again: no harm"
    listed = (await ada.get(PATH)).json()["items"]
    assert [each["revoked"] for each in listed] == [True, False]
    noted = [act for _, act, target, _ in await audit_entries(pool) if target == made["id"]]
    assert noted == ["token.make", "token.revoke"], "once: nobody fills the record by that"


async def test_tokens_of_others_are_not_found(ada: Api, bob: Api) -> None:
    made = (await ada.post(PATH, {"name": "x"})).json()
    assert (await bob.delete(f"{PATH}/{made['id']}")).status_code == 404
    assert [each["name"] for each in (await bob.get(PATH)).json()["items"]] == ["for tests"]
    by_it = Api(ada.client, User(ada.user.id, "ada", made["token"]))
    assert (await by_it.get(PATH)).status_code == 200


async def test_the_list_shows_last_use_and_expiry(ada: Api, pool: Pool) -> None:
    async def is_used() -> bool:
        return (await ada.get(PATH)).json()["items"][0]["last_used_at"] is not None

    await until(is_used)
    async with connection(pool) as acquired:
        await acquired.execute(
            "INSERT INTO token (id, account_id, name, digest, expires_at)"
            " VALUES ('tok_0', $1, 'old', sha256('x'), now() - interval '1 day')",
            ada.user.id,
        )
    shown = {each["name"]: each for each in (await ada.get(PATH)).json()["items"]}
    assert shown["old"]["expired"] is True
    assert shown["for tests"]["expired"] is False


async def test_the_list_has_pages(ada: Api) -> None:
    for number in range(4):
        await ada.post(PATH, {"name": f"t{number}"})
    names: list[str] = []
    cursor: str | None = None
    while True:
        given: dict[str, Any] = {"limit": 2, **({"cursor": cursor} if cursor else {})}
        page = (await ada.get(PATH, params=given)).json()
        names += [each["name"] for each in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert names == ["t3", "t2", "t1", "t0", "for tests"]


async def test_tokens_per_account_are_limited(ada: Api, pool: Pool) -> None:
    async with connection(pool) as acquired:
        await acquired.execute(
            "INSERT INTO token (id, account_id, name, digest)"
            " SELECT 'tok_' || n, $1, 'x', sha256(n::text::bytea)"
            " FROM generate_series(2, $2) AS n",
            ada.user.id,
            MAX_TOKENS,
        )
    answer = await ada.post(PATH, {"name": "one more"})
    assert answer.status_code == 409
    assert "revoke one first" in answer.json()["detail"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": ""},
        {"name": "a\x00b"},
        {"name": "x", "scopes": []},
        {"name": "x", "scopes": ["everything"]},
        {"name": "x", "expires_in_days": 0},
        {"name": "x", "expires_in_days": 10**30},
        {"name": "x", "token": "mine"},
    ],
)
async def test_an_invalid_token_request_is_refused(ada: Api, body: object) -> None:
    """A6."""
    assert (await ada.post(PATH, body)).status_code == 422


@pytest.mark.parametrize("given", ["tok_x", "%00", "x" * 3000, "tok_" + "0" * 26])
async def test_malformed_token_ids_are_not_found(ada: Api, given: str) -> None:
    assert (await ada.delete(f"{PATH}/{given}")).status_code == 404


async def test_scopes_limit_the_token_of_an_admin(admin: Api, pool: Pool) -> None:
    """O6: the role alone is not enough."""
    less = await scoped(admin, pool, Scope.READ)
    assert (await admin.get("/v1/admin/users")).status_code == 200
    refused = await less.get("/v1/admin/users")
    assert refused.status_code == 403
    assert "the scope admin" in refused.json()["detail"]
    assert Role.ADMIN not in refused.json()["title"]
