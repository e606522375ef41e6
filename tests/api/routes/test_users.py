"""O6: admins list and change accounts, and the audit log records it."""

import asyncio
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from deemster.api.auth.passwords import HASHER
from deemster.domain.account import Role
from deemster.store.pool import Pool, connection
from tests.api.browser import PATH as SESSION
from tests.api.browser import audit_entries, browsing, log_in, make_person
from tests.api.conftest import Api, User, make_user

PATH = "/v1/admin/users"


async def patch(api: Api, account: str, **change: Any) -> httpx.Response:
    return await api.client.patch(f"{PATH}/{account}", json=change, headers=api.user.headers)


async def test_an_admin_creates_an_account_that_can_log_in(admin: Api, pool: Pool) -> None:
    body = {"name": "ada", "role": "author", "password": "quite good words", "tier": 1}
    made = await admin.post(PATH, body)
    assert made.status_code == 201, made.text
    result = made.json()
    assert (result["role"], result["tier"], result["has_password"]) == ("author", 1, True)
    assert (await admin.get(f"{PATH}/{result['id']}")).json() == result
    assert (await admin.post(PATH, body)).status_code == 409
    assert (await log_in(admin.client, password="quite good words")).status_code == 201
    actor, act, target, details = (await audit_entries(pool))[0]
    assert (actor, act, target) == ("root", "user.add", result["id"])
    assert "quite good" not in str(details)
    assert "password" not in details


async def test_accounts_are_filtered_by_role_and_beginning_of_the_name(
    admin: Api, pool: Pool
) -> None:
    """A8."""
    for name in ("ada", "adele", "bob", "a_x"):
        await make_user(pool, name, Role.AUTHOR if name == "bob" else Role.USER)

    async def names(**query: str) -> list[str]:
        items = (await admin.get(PATH, params=query)).json()["items"]
        return [each["name"] for each in items]

    assert await names() == ["a_x", "bob", "adele", "ada", "root"]
    assert await names(name="ad") == ["adele", "ada"]
    assert await names(name="a_") == ["a_x"]
    assert await names(role="author") == ["bob"]
    assert await names(role="admin", name="x") == []
    page = (await admin.get(PATH, params={"limit": 3})).json()
    rest = (await admin.get(PATH, params={"cursor": page["next_cursor"]})).json()
    assert [each["name"] for each in rest["items"]] == ["ada", "root"]
    assert rest["next_cursor"] is None


async def test_a_disabled_account_loses_access_at_once_and_for_good(
    app: FastAPI, admin: Api, pool: Pool
) -> None:
    account = await make_person(pool)
    made = (await admin.post(f"{PATH}/{account}/tokens", {"name": "x"})).json()
    by_token = Api(admin.client, User(account, "ada", made["token"]))
    async with browsing(app) as browser:
        assert (await browser.client.get(SESSION)).status_code == 200
        assert (await by_token.get(SESSION)).status_code == 200
        answer = await patch(admin, account, disabled=True)
        assert answer.json()["disabled"] is True
        assert (await browser.client.get(SESSION)).status_code == 401
        assert (await by_token.get(SESSION)).status_code == 401
        assert (await log_in(admin.client)).status_code == 401
        path = f"{PATH}/{account}/tokens"
        assert (await admin.post(path, {"name": "new"})).status_code == 409
        assert (await patch(admin, account, disabled=False)).json()["disabled"] is False
        assert (await browser.client.get(SESSION)).status_code == 401
        assert (await by_token.get(SESSION)).status_code == 401
        assert (await log_in(admin.client)).status_code == 201


async def test_o6_a_new_role_counts_at_once(admin: Api, ada: Api, pool: Pool) -> None:
    """O6: also for what an admin may read, although credentials are cached."""
    for role in ("admin", "author", "user", "admin"):
        assert (await patch(admin, ada.user.id, role=role)).json()["role"] == role
        assert (await ada.get(SESSION)).json()["user"]["role"] == role
    _, act, target, details = (await audit_entries(pool))[-1]
    assert (act, target, details) == ("user.change", ada.user.id, {"role": "admin"})


async def test_missing_fields_do_not_change(admin: Api, ada: Api) -> None:
    changed = (await patch(admin, ada.user.id, daily_quota=7, tier=1)).json()
    assert (changed["daily_quota"], changed["tier"], changed["role"]) == (7, 1, "user")
    assert (await patch(admin, ada.user.id, role="author")).json()["daily_quota"] == 7
    assert (await patch(admin, ada.user.id, daily_quota=None)).json()["daily_quota"] is None


async def test_a_password_set_by_an_admin_ends_the_sessions(
    app: FastAPI, admin: Api, pool: Pool
) -> None:
    account = await make_person(pool)
    async with browsing(app) as browser:
        assert (await browser.client.get(SESSION)).status_code == 200
        assert (await patch(admin, account, password="words of an admin")).status_code == 200
        assert (await browser.client.get(SESSION)).status_code == 401
    assert (await log_in(admin.client, password="words of an admin")).status_code == 201
    assert (await patch(admin, account, password="short")).status_code == 422
    assert (await audit_entries(pool))[-1][3] == {"password": "changed"}
    async with connection(pool) as acquired:
        kept = await acquired.fetchval("SELECT password FROM account WHERE id = $1", account)
    assert HASHER.verify(kept, "words of an admin")


@pytest.mark.parametrize("change", [{"role": "user"}, {"role": "author"}, {"disabled": True}])
async def test_the_last_admin_can_not_be_removed(
    admin: Api, pool: Pool, change: dict[str, Any]
) -> None:
    gone = await make_user(pool, "former", Role.ADMIN)
    assert (await patch(admin, gone.id, disabled=True)).status_code == 200
    answer = await patch(admin, admin.user.id, **change)
    assert answer.status_code == 409
    assert "last admin" in answer.json()["detail"]
    await make_user(pool, "next", Role.ADMIN)
    assert (await patch(admin, admin.user.id, **change)).status_code == 200


async def test_of_two_admins_removed_at_once_one_stays(admin: Api, pool: Pool) -> None:
    other = await make_user(pool, "other", Role.ADMIN)
    answers = await asyncio.gather(
        patch(admin, admin.user.id, role="user"),
        patch(Api(admin.client, other), other.id, role="user"),
    )
    assert sorted(answer.status_code for answer in answers) == [200, 409]
    async with connection(pool) as acquired:
        count = await acquired.fetchval("SELECT count(*) FROM account WHERE role = 'admin'")
    assert count == 1


async def test_an_admin_creates_and_revokes_tokens_of_others(
    admin: Api, ada: Api, bob: Api
) -> None:
    path = f"{PATH}/{ada.user.id}/tokens"
    made = (await admin.post(path, {"name": "given", "scopes": ["read"]})).json()
    by_it = Api(ada.client, User(ada.user.id, "ada", made["token"]))
    assert (await by_it.get(SESSION)).json()["user"]["name"] == "ada"
    listed = (await admin.get(path)).json()["items"]
    assert [each["name"] for each in listed] == ["given", "for tests"]
    wrong = f"{PATH}/{bob.user.id}/tokens/{made['id']}"
    assert (await admin.delete(wrong)).status_code == 404
    assert (await admin.delete(f"{path}/{made['id']}")).json()["revoked"] is True
    assert (await by_it.get(SESSION)).status_code == 401


@pytest.mark.parametrize("given", ["usr_x", "usr_" + "0" * 26, "%00", "x" * 2000])
async def test_an_unknown_account_is_not_found(admin: Api, given: str) -> None:
    for answer in (
        await admin.get(f"{PATH}/{given}"),
        await patch(admin, given, tier=1),
        await admin.get(f"{PATH}/{given}/tokens"),
        await admin.post(f"{PATH}/{given}/tokens", {"name": "x"}),
        await admin.delete(f"{PATH}/{given}/tokens/tok_x"),
    ):
        assert answer.status_code == 404


@pytest.mark.parametrize(
    "change",
    [{"tier": 2}, {"daily_quota": -1}, {"daily_quota": 2**40}, {"role": "king"}, {"name": "x"}],
)
async def test_an_invalid_account_request_is_refused(
    admin: Api, ada: Api, change: dict[str, Any]
) -> None:
    """A6."""
    assert (await patch(admin, ada.user.id, **change)).status_code == 422
