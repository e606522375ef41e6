"""`/v1/admin/dead-letters`: only an admin lists, inspects, requeues or discards (Q7)."""

import asyncio
from typing import Any

import pytest

from deemster.domain.errors import Unavailable
from deemster.domain.ids import SubmissionId
from deemster.pipeline.verdict.retry import retry_or_fail
from deemster.store import audit, dead_letters
from deemster.store.audit import AuditEntry
from deemster.store.lifecycle import lock_state
from deemster.store.pool import Pool, connection, transaction
from tests.api.conftest import Api
from tests.builders import make_submission, queue_submission, start_submission
from tests.waiting import until

PATH = "/v1/admin/dead-letters"


async def make_dead_letter(pool: Pool, *, owner: Api | None = None) -> tuple[int, SubmissionId]:
    """Creates a dead letter; returns its number and its submission."""
    submission = await make_submission(pool, owner.user.id if owner else None)
    await queue_submission(pool, submission)
    running = await start_submission(pool, submission)
    await retry_or_fail(pool, running, Unavailable("the sandbox broke"), max_tries=1)
    async with connection(pool) as acquired:
        letters = await dead_letters.page(acquired)
    number = next(letter.id for letter in letters if letter.work == submission)
    return number, submission


async def audit_entries(pool: Pool) -> list[AuditEntry]:
    async with connection(pool) as acquired:
        return await audit.page(acquired, before=None, limit=100)


async def listed(admin: Api, **query: str) -> list[dict[str, Any]]:
    answer = await admin.get(PATH, params=query)
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


async def test_q7_a_dead_letter_is_shown_with_its_history(admin: Api, pool: Pool) -> None:
    number, submission = await make_dead_letter(pool)
    [line] = await listed(admin)
    assert (line["number"], line["submission_id"], line["attempts"]) == (number, submission, 1)
    assert (line["error"], line["outcome"]) == ("Unavailable: the sandbox broke", None)
    shown = (await admin.get(f"{PATH}/{number}")).json()
    assert shown["context"]["language"] == "python3"
    events = [step["event"] for step in shown["history"]]
    assert events == ["submit", "publish", "start", "fail"]
    assert {**line, "context": shown["context"], "history": shown["history"]} == shown


async def test_q7_a_requeued_dead_letter_keeps_its_history(
    admin: Api, ada: Api, pool: Pool
) -> None:
    number, submission = await make_dead_letter(pool, owner=ada)
    answer = await admin.post(f"{PATH}/{number}/requeue")
    assert answer.status_code == 202, answer.text
    fresh = answer.json()["id"]
    assert answer.headers["location"] == f"/v1/submissions/{fresh}"
    shown = (await admin.get(f"{PATH}/{number}")).json()
    assert (shown["outcome"], shown["requeued_as"]) == ("requeued", fresh)
    assert shown["settled_by"] == "root"
    assert [step["event"] for step in shown["history"]][-1] == "fail"
    assert (await ada.show(submission))["status"] == "failed"
    assert (await ada.show(fresh))["rejudge_of"] == submission
    assert await listed(admin) == []
    assert [line["number"] for line in await listed(admin, state="all")] == [number]
    [entry] = await audit_entries(pool)
    assert (entry.act, entry.target, entry.account) == (
        *("dead_letter.requeue", str(number), admin.user.id),
    )
    assert entry.details == {"submission": submission, "new": fresh}
    assert entry.request_id == answer.headers["x-request-id"]


async def test_i1_a_repeated_requeue_gets_the_first_response(admin: Api, pool: Pool) -> None:
    number, _ = await make_dead_letter(pool)
    first = await admin.post(f"{PATH}/{number}/requeue", key="k")
    again = await admin.post(f"{PATH}/{number}/requeue", key="k")
    assert (again.status_code, again.json()) == (202, first.json())
    assert (await admin.post(f"{PATH}/{number}/requeue")).status_code == 409
    assert len(await audit_entries(pool)) == 1


async def test_i1_two_concurrent_requeues_with_one_key_get_the_same_response(
    admin: Api, pool: Pool
) -> None:
    """Both requests run before either has committed."""
    number, submission = await make_dead_letter(pool)
    async with asyncio.TaskGroup() as group, transaction(pool) as holding:
        await lock_state(holding, submission)
        asked = [
            group.create_task(admin.post(f"{PATH}/{number}/requeue", key="k")) for _ in range(2)
        ]
        await until(lambda: two_wait(pool))
    first, second = (each.result() for each in asked)
    assert (first.status_code, second.status_code) == (202, 202)
    assert first.json() == second.json()
    assert len(await audit_entries(pool)) == 1


async def two_wait(pool: Pool) -> bool:
    async with connection(pool) as acquired:
        waiting = """SELECT count(*) FROM pg_stat_activity
                      WHERE datname = current_database() AND wait_event_type = 'Lock'"""
        return bool(await acquired.fetchval(waiting) == 2)


async def test_q7_a_dead_letter_is_settled_once(admin: Api, pool: Pool) -> None:
    number, submission = await make_dead_letter(pool)
    answers = await asyncio.gather(
        *[admin.post(f"{PATH}/{number}/{act}") for act in ("discard", "requeue") * 4]
    )
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses[0] in {200, 202}
    assert set(statuses[1:]) == {409}
    assert len(await audit_entries(pool)) == 1
    async with connection(pool) as acquired:
        count = "SELECT count(*) FROM submission WHERE rejudge_of = $1"
        new = await acquired.fetchval(count, submission)
    assert new == statuses.count(202)


async def test_the_submission_of_a_discarded_dead_letter_stays_failed(
    admin: Api, pool: Pool
) -> None:
    number, submission = await make_dead_letter(pool)
    answer = await admin.post(f"{PATH}/{number}/discard")
    assert answer.status_code == 200, answer.text
    assert (answer.json()["outcome"], answer.json()["requeued_as"]) == ("discarded", None)
    assert (await admin.show(submission))["status"] == "failed"
    assert await listed(admin) == []
    assert [entry.act for entry in await audit_entries(pool)] == ["dead_letter.discard"]


async def test_a8_dead_letters_are_listed_in_pages_newest_first(admin: Api, pool: Pool) -> None:
    numbers = [(await make_dead_letter(pool))[0] for _ in range(3)]
    first = (await admin.get(PATH, params={"limit": 2})).json()
    assert [each["number"] for each in first["items"]] == numbers[:0:-1]
    rest = (await admin.get(PATH, params={"limit": 2, "cursor": first["next_cursor"]})).json()
    assert [each["number"] for each in rest["items"]] == numbers[:1]
    assert rest["next_cursor"] is None


@pytest.mark.parametrize("number", ["77", "-1", "x", "9" * 30, "٣", "1%00"])
async def test_an_unknown_dead_letter_is_not_found(admin: Api, number: str) -> None:
    """A6"""
    assert (await admin.get(f"{PATH}/{number}")).status_code == 404
    for act in ("requeue", "discard"):
        assert (await admin.post(f"{PATH}/{number}/{act}")).status_code == 404


async def test_q7_only_admins_see_dead_letters(ada: Api, pool: Pool) -> None:
    number, _ = await make_dead_letter(pool, owner=ada)
    assert (await ada.get(PATH)).status_code == 403
    assert (await ada.get(f"{PATH}/{number}")).status_code == 403
    for act in ("requeue", "discard"):
        assert (await ada.post(f"{PATH}/{number}/{act}")).status_code == 403
