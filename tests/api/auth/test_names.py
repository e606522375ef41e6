"""O6: a name is one person's, in whatever case it is written."""

import httpx
import pytest

from deemster.api.auth import throttle
from deemster.store.pool import Pool
from tests.api.auth.people import PASSWORD, enter, make_person, serving
from tests.api.conftest import Api, MakeDependencies
from tests.builders import make_submission


async def test_nobody_signs_up_as_someone_else_in_other_letters(
    make_dependencies: MakeDependencies, pool: Pool
) -> None:
    account = await make_person(pool, "Ada")
    async with serving(make_dependencies(sign_up=True)) as client:
        for name in ("Ada", "ada", "ADA"):
            body = {"name": name, "password": PASSWORD}
            answer = await client.post("/v1/accounts", json=body)
            assert answer.status_code == 409, name
        entered = await enter(client, "aDA")
    assert entered.json()["user"] == {"id": account, "name": "Ada", "role": "user"}


async def test_guesses_at_a_name_are_counted_together_in_any_case(
    client: httpx.AsyncClient, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D2: else there would be as many tries as ways to write it."""
    monkeypatch.setattr(throttle, "GUESSES", 2)
    monkeypatch.setattr(throttle, "GUESS_EVERY_S", 3600)
    await make_person(pool)
    answers = [await enter(client, name, "wrong words") for name in ("ada", "Ada", "ADA")]
    assert [answer.status_code for answer in answers] == [401, 401, 429]


async def test_admins_find_people_by_any_case(admin: Api, ada: Api, pool: Pool) -> None:
    submission = await make_submission(pool, ada.user.id)
    await make_submission(pool, admin.user.id)
    found = (await admin.get("/v1/submissions", params={"user": "ADA"})).json()["items"]
    assert [each["id"] for each in found] == [submission]
    listed = (await admin.get("/v1/admin/users", params={"name": "AD"})).json()["items"]
    assert [each["name"] for each in listed] == ["ada"]
