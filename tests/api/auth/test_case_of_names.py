"""O6: names of accounts are case-insensitive."""

import httpx
import pytest

from deemster.api.auth import throttle
from deemster.store.pool import Pool
from tests.api.browser import PASSWORD, log_in, make_person, serving
from tests.api.conftest import Api, MakeDependencies
from tests.builders import make_submission


async def test_names_that_differ_only_in_case_can_not_sign_up(
    make_dependencies: MakeDependencies, pool: Pool
) -> None:
    account = await make_person(pool, "Ada")
    async with serving(make_dependencies(sign_up=True)) as client:
        for name in ("Ada", "ada", "ADA"):
            body = {"name": name, "password": PASSWORD}
            answer = await client.post("/v1/accounts", json=body)
            assert answer.status_code == 409, name
        entered = await log_in(client, "aDA")
    assert entered.json()["user"] == {"id": account, "name": "Ada", "role": "user"}


async def test_wrong_passwords_for_a_name_are_counted_in_any_case(
    client: httpx.AsyncClient, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D2: otherwise each spelling would have its own limit."""
    monkeypatch.setattr(throttle, "GUESSES", 2)
    monkeypatch.setattr(throttle, "GUESS_EVERY_S", 3600)
    await make_person(pool)
    answers = [await log_in(client, name, "wrong words") for name in ("ada", "Ada", "ADA")]
    assert [answer.status_code for answer in answers] == [401, 401, 429]


async def test_admins_find_accounts_in_any_case(admin: Api, ada: Api, pool: Pool) -> None:
    submission = await make_submission(pool, ada.user.id)
    await make_submission(pool, admin.user.id)
    found = (await admin.get("/v1/submissions", params={"user": "ADA"})).json()["items"]
    assert [each["id"] for each in found] == [submission]
    listed = (await admin.get("/v1/admin/users", params={"name": "AD"})).json()["items"]
    assert [each["name"] for each in listed] == ["ada"]
