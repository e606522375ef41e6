"""K4: admins import class lists, and the accounts log in with links or passwords."""

import csv
import time

import httpx
import pytest

from deemster.api.auth.passwords import Passwords
from deemster.domain.account import Role
from deemster.store.pool import Pool, connection
from tests.api.browser import log_in, make_person
from tests.api.conftest import Api, make_user

PATH = "/v1/admin/users/import"
CLASS = "name,role,Full name\nada,,Ada Lovelace\ngrace,author,<b>Grace</b>\n"


async def send(admin: Api, text: str, *, accept: str = "", **query: str) -> httpx.Response:
    headers = {**admin.user.headers, "Content-Type": "text/csv", "Accept": accept or "*/*"}
    key = query.pop("key", None)
    if key:
        headers["Idempotency-Key"] = key
    return await admin.client.post(PATH, content=text.encode(), headers=headers, params=query)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The passwords that were compared with a slow hash, or made into one."""
    found: list[str] = []
    verify, hash_ = Passwords.verify, Passwords.hash

    async def verify_slowly(self: Passwords, given: str, hashed: str | None) -> bool:
        found.append(given)
        return await verify(self, given, hashed)

    async def hash_slowly(self: Passwords, given: str) -> str:
        found.append(given)
        return await hash_(self, given)

    monkeypatch.setattr(Passwords, "verify", verify_slowly)
    monkeypatch.setattr(Passwords, "hash", hash_slowly)
    return found


async def test_a_link_logs_in_once(
    admin: Api, client: httpx.AsyncClient, pool: Pool, slow: list[str]
) -> None:
    """Neither a link nor a token needs a slow hash: a class can come at once."""
    answer = await send(admin, CLASS)
    assert answer.status_code == 201, answer.text
    users = answer.json()["users"]
    assert [(each["name"], each["role"], each["outcome"]) for each in users] == [
        ("ada", "user", "created"),
        ("grace", "author", "created"),
    ]
    link = users[0]["link"]
    assert link.startswith("http://judge/log-in/")
    code = link.rpartition("/")[2]
    typed = {"code": code.upper().replace("-", "")}
    logged_in = await client.post("/v1/session/link", json=typed)
    assert logged_in.status_code == 201, logged_in.text
    assert logged_in.json()["user"]["name"] == "ada"
    assert (await client.get("/v1/session")).json()["user"]["name"] == "ada"
    again = await client.post("/v1/session/link", json={"code": code})
    assert (again.status_code, again.json()["code"]) == (401, "unauthorised")
    async with connection(pool) as acquired:
        stored = await acquired.fetch("SELECT digest::text FROM log_in_link")
    assert len(stored) == 1
    assert slow == []


async def test_a_generated_password_logs_in_without_a_slow_hash(
    admin: Api, client: httpx.AsyncClient, slow: list[str]
) -> None:
    """A wrong one takes as long as for any account (O6)."""
    answer = await send(admin, "name\nada\n", credentials="password")
    password = answer.json()["users"][0]["password"]
    assert answer.json()["users"][0]["link"] is None
    assert (await log_in(client, "ada", password)).status_code == 201
    assert slow == []
    assert (await log_in(client, "ada", "a wrong password")).status_code == 401
    assert slow == ["a wrong password"]
    shown = (await client.get("/v1/session")).json()
    change = {"current_password": password, "password": "four rather plain words"}
    headers = {"X-CSRF-Token": shown["csrf_token"]}
    changed = await client.put("/v1/account/password", json=change, headers=headers)
    assert changed.status_code == 200, changed.text
    assert (await log_in(client, "ada", "four rather plain words")).status_code == 201
    assert (await log_in(client, "ada", password)).status_code == 401


async def test_a_password_of_the_list_is_used(admin: Api, client: httpx.AsyncClient) -> None:
    await send(admin, "name,password\nada,three plain words\n")
    assert (await log_in(client, "ada", "three plain words")).status_code == 201


async def test_accounts_that_exist_are_kept_or_renewed(admin: Api, pool: Pool) -> None:
    await make_person(pool)
    kept = (await send(admin, "name\nADA\nbob\n")).json()
    assert (kept["created"], kept["kept"]) == (1, 1)
    assert (kept["users"][0]["name"], kept["users"][0]["link"]) == ("ada", None)
    renewed = (await send(admin, "name\nADA\nbob\n", renew="true")).json()
    assert (renewed["created"], renewed["renewed"]) == (0, 2)
    assert renewed["users"][0]["link"]


async def test_an_admin_in_the_list_gets_no_link_by_mistake(admin: Api, pool: Pool) -> None:
    refused = await send(admin, "name\nnew\nroot\n", renew="true")
    assert refused.status_code == 409
    assert "root" in refused.json()["detail"]
    async with connection(pool) as acquired:
        assert await acquired.fetchval("SELECT count(*) FROM account WHERE name = 'new'") == 0


async def test_links_end_with_a_new_password_and_with_the_account(
    admin: Api, client: httpx.AsyncClient
) -> None:
    for change in ({"password": "five quite plain words"}, {"disabled": True}):
        user = (await send(admin, "name\nada\n", renew="true")).json()["users"][0]
        answer = await client.patch(
            f"/v1/admin/users/{user['id']}", json=change, headers=admin.user.headers
        )
        assert answer.status_code == 200, answer.text
        code = user["link"].rpartition("/")[2]
        refused = await client.post("/v1/session/link", json={"code": code})
        assert refused.status_code == 401


async def test_the_answer_is_csv_or_a_sheet(admin: Api) -> None:
    first = await send(admin, CLASS, accept="text/csv", key="k")
    assert first.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(first.text.splitlines()))
    assert [(row["name"], row["Full name"]) for row in rows] == [
        ("ada", "Ada Lovelace"),
        ("grace", "<b>Grace</b>"),
    ]
    sheet = await send(admin, CLASS, accept="text/html", key="k")  # I1
    assert sheet.headers["content-type"].startswith("text/html")
    assert rows[1]["link"] in sheet.text
    assert "&lt;b&gt;Grace" in sheet.text
    assert "<b>Grace" not in sheet.text


async def test_the_audit_log_names_each_account_and_no_secret(admin: Api, pool: Pool) -> None:
    answer = await send(admin, CLASS, credentials="password")
    async with connection(pool) as acquired:
        rows = await acquired.fetch("SELECT act, target, details::text FROM audit ORDER BY id")
    users = answer.json()["users"]
    assert [(row["act"], row["target"]) for row in rows] == [
        ("user.add", each["id"]) for each in users
    ]
    assert users[0]["password"] not in str(rows)


async def test_only_admins_import(ada: Api, pool: Pool, client: httpx.AsyncClient) -> None:
    author = Api(client, await make_user(pool, "author", Role.AUTHOR))
    for api in (ada, author):
        assert (await send(api, "name\nbob\n")).status_code == 403


@pytest.mark.parametrize("kind", ["link", "password"])
async def test_ten_thousand_accounts_take_less_than_a_minute(admin: Api, kind: str) -> None:
    text = "name\n" + "".join(f"student{n:05}\n" for n in range(10_000))
    began_s = time.perf_counter()
    answer = await send(admin, text, credentials=kind)
    assert time.perf_counter() - began_s < 60
    assert answer.status_code == 201, answer.text
    assert answer.json()["created"] == 10_000
    assert len({each[kind] for each in answer.json()["users"]}) == 10_000
