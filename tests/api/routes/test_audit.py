"""`/v1/admin/audit`: who did what to which object."""

from typing import Any

import pytest

from deemster.domain.verdict import Verdict
from deemster.store import audit
from deemster.store.artifacts import Artifacts
from deemster.store.audit import Actor
from deemster.store.pool import Pool, connection
from tests.api.conftest import Api
from tests.api.judgements import JUDGEMENTS, judged_submission
from tests.builders import make_submission

PATH = "/v1/admin/audit"


async def note(pool: Pool, actor: str, act: str, target: str) -> None:
    async with connection(pool) as acquired:
        await audit.record(acquired, Actor(actor), act, target, why="a test")


async def listed(admin: Api, **query: Any) -> list[dict[str, Any]]:
    answer = await admin.get(PATH, params=query)
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


async def test_entries_are_listed_newest_first_and_by_filter(admin: Api, pool: Pool) -> None:
    """A8"""
    await note(pool, "ada", "worker.drain", "wrk_1")
    await note(pool, "root by command", "problem.import", "prob_1")
    await note(pool, "ada", "problem.import", "prob_2")
    assert [each["target"] for each in await listed(admin)] == ["prob_2", "prob_1", "wrk_1"]
    assert [each["target"] for each in await listed(admin, actor="ada")] == ["prob_2", "wrk_1"]
    assert [each["target"] for each in await listed(admin, act="problem.import")] == [
        *("prob_2", "prob_1"),
    ]
    [one] = await listed(admin, target="prob_1")
    assert (one["actor"], one["account_id"]) == ("root by command", None)
    assert one["details"] == {"why": "a test"}
    assert await listed(admin, actor="ada", target="prob_1") == []


async def test_a8_entries_are_listed_in_pages(admin: Api, pool: Pool) -> None:
    for number in range(5):
        await note(pool, "ada", "problem.import", f"prob_{number}")
    found: list[str] = []
    query: dict[str, Any] = {"limit": 2, "actor": "ada"}
    while True:
        page = (await admin.get(PATH, params=query)).json()
        found += [each["target"] for each in page["items"]]
        if page["next_cursor"] is None:
            break
        query["cursor"] = page["next_cursor"]
    assert found == [f"prob_{number}" for number in reversed(range(5))]


@pytest.mark.parametrize("query", [{"cursor": "bm8"}, {"actor": "a\0b"}, {"actor": "x" * 200}])
async def test_an_invalid_query_is_refused(admin: Api, query: dict[str, str]) -> None:
    """A6"""
    assert (await admin.get(PATH, params=query)).status_code == 422


async def test_only_admins_see_the_audit_log(ada: Api) -> None:
    """O6"""
    assert (await ada.get(PATH)).status_code == 403


async def test_cancelling_a_submission_of_another_user_is_recorded(
    admin: Api, ada: Api, pool: Pool
) -> None:
    """A10"""
    submission = await make_submission(pool, ada.user.id)
    answer = await admin.delete(f"/v1/submissions/{submission}")
    assert answer.status_code == 200, answer.text
    [entry] = await listed(admin, target=submission)
    assert (entry["act"], entry["actor"]) == ("submission.cancel", "root")
    assert entry["account_id"] == admin.user.id
    assert entry["details"] == {"was": "PENDING"}
    assert (await admin.delete(f"/v1/submissions/{submission}")).status_code == 409
    assert len(await listed(admin)) == 1, "what was refused was not done"


async def test_cancelling_an_own_submission_is_not_recorded(
    admin: Api, ada: Api, pool: Pool
) -> None:
    for who in (admin, ada):
        submission = await make_submission(pool, who.user.id)
        assert (await who.delete(f"/v1/submissions/{submission}")).status_code == 200
    assert await listed(admin) == []


async def test_a_rejudge_is_recorded(
    admin: Api, ada: Api, pool: Pool, artifacts: Artifacts
) -> None:
    """A9"""
    found = JUDGEMENTS[Verdict.ACCEPTED]
    submission = await judged_submission(pool, artifacts, ada.user.id, found)
    answer = await admin.post(f"/v1/submissions/{submission}/rejudge", key="k")
    assert answer.status_code == 202, answer.text
    await admin.post(f"/v1/submissions/{submission}/rejudge", key="k")
    [entry] = await listed(admin)
    assert (entry["act"], entry["target"]) == ("submission.rejudge", submission)
    assert entry["details"] == {"new": answer.json()["id"]}
