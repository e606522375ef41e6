"""A9, A10: cancelling and rejudging submissions."""

import asyncio

import pytest

from deemster.domain.lifecycle import Event, State
from deemster.domain.verdict import Verdict
from deemster.store.artifacts import Artifacts
from deemster.store.lifecycle import StateChanged, lock_state
from deemster.store.pool import Pool, connection, transaction
from tests.api.conftest import Api
from tests.api.judgements import JUDGEMENTS, judged_submission
from tests.builders import make_submission, queue_submission, start_submission
from tests.waiting import until


@pytest.mark.parametrize("state", [State.PENDING, State.QUEUED, State.RUNNING])
async def test_a_submission_that_has_not_ended_can_be_cancelled(
    ada: Api, pool: Pool, state: State
) -> None:
    """A10."""
    submission = await make_submission(pool, ada.user.id)
    if state is State.QUEUED:
        await queue_submission(pool, submission)
    elif state is State.RUNNING:
        await start_submission(pool, submission)
    answer = await ada.delete(f"/v1/submissions/{submission}")
    assert answer.status_code == 200, answer.text
    assert (answer.json()["status"], answer.json()["verdict"]) == ("cancelled", None)
    assert (await ada.show(submission))["finished_at"]
    again = await ada.delete(f"/v1/submissions/{submission}")
    assert again.status_code == 409
    assert again.json()["type"] == "urn:deemster:error:conflict"


async def test_a_submission_that_has_ended_can_not_be_cancelled(
    ada: Api, pool: Pool, artifacts: Artifacts
) -> None:
    """A10, J12."""
    found = JUDGEMENTS[Verdict.ACCEPTED]
    submission = await judged_submission(pool, artifacts, ada.user.id, found)
    assert (await ada.delete(f"/v1/submissions/{submission}")).status_code == 409
    assert (await ada.show(submission))["status"] == "finished"


async def test_of_start_and_cancel_exactly_one_wins(ada: Api, pool: Pool) -> None:
    """A10: the submission is always cancelled; if it had started, it is stopped."""
    for _ in range(10):
        submission = await make_submission(pool, ada.user.id)
        await queue_submission(pool, submission)
        answer, started = await asyncio.gather(
            ada.delete(f"/v1/submissions/{submission}"),
            start_submission(pool, submission),
            return_exceptions=True,
        )
        assert not isinstance(answer, BaseException)
        assert answer.status_code == 200
        assert not isinstance(started, BaseException) or isinstance(started, StateChanged)
        async with connection(pool) as acquired:
            events = await acquired.fetch(
                "SELECT event FROM work_event WHERE work_id = $1 ORDER BY id",
                submission,
            )
        names = [each["event"] for each in events]
        assert names[-1] == Event.CANCEL
        assert (Event.START in names) == (not isinstance(started, BaseException))


async def test_only_the_owner_and_admins_can_cancel_a_submission(
    ada: Api, bob: Api, admin: Api, pool: Pool
) -> None:
    submission = await make_submission(pool, ada.user.id)
    assert (await bob.delete(f"/v1/submissions/{submission}")).status_code == 404
    assert (await ada.show(submission))["status"] == "queued"
    assert (await admin.delete(f"/v1/submissions/{submission}")).status_code == 200


async def test_a_rejudge_creates_a_new_submission_and_keeps_the_old_one(
    ada: Api, admin: Api, pool: Pool, artifacts: Artifacts
) -> None:
    """A9."""
    found = JUDGEMENTS[Verdict.WRONG_ANSWER]
    old = await judged_submission(pool, artifacts, ada.user.id, found)
    answer = await admin.post(f"/v1/submissions/{old}/rejudge", key="once")
    assert answer.status_code == 202, answer.text
    new = answer.json()["id"]
    assert new != old
    assert answer.headers["location"] == f"/v1/submissions/{new}"
    shown_old, shown_new = await ada.show(old), await ada.show(new)
    assert (shown_old["verdict"], shown_old["superseded_by"]) == ("Wrong Answer", new)
    assert (shown_new["status"], shown_new["rejudge_of"]) == ("queued", old)
    assert shown_new["user"] == "ada"
    listed = (await ada.get("/v1/submissions")).json()["items"]
    assert [each["id"] for each in listed] == [new]
    keyed = await admin.post(f"/v1/submissions/{old}/rejudge", key="once")
    assert (keyed.status_code, keyed.json()) == (202, answer.json())
    for key in (None, "another"):
        again = await admin.post(f"/v1/submissions/{old}/rejudge", key=key)
        assert again.status_code == 409


async def test_i1_two_concurrent_rejudges_with_one_key_get_the_same_response(
    ada: Api, admin: Api, pool: Pool, artifacts: Artifacts
) -> None:
    """Both requests run before either has committed."""
    found = JUDGEMENTS[Verdict.WRONG_ANSWER]
    old = await judged_submission(pool, artifacts, ada.user.id, found)
    path = f"/v1/submissions/{old}/rejudge"
    async with asyncio.TaskGroup() as group, transaction(pool) as holding:
        await lock_state(holding, old)
        asked = [group.create_task(admin.post(path, key="once")) for _ in range(2)]
        await until(lambda: two_wait(pool))
    first, second = (each.result() for each in asked)
    assert (first.status_code, second.status_code) == (202, 202)
    assert first.json() == second.json()


async def two_wait(pool: Pool) -> bool:
    async with connection(pool) as acquired:
        waiting = """SELECT count(*) FROM pg_stat_activity
                      WHERE datname = current_database() AND wait_event_type = 'Lock'"""
        return bool(await acquired.fetchval(waiting) == 2)


async def test_a_queued_submission_can_not_be_rejudged(
    ada: Api, admin: Api, pool: Pool
) -> None:
    submission = await make_submission(pool, ada.user.id)
    for key in (None, "once"):
        answer = await admin.post(f"/v1/submissions/{submission}/rejudge", key=key)
        assert answer.status_code == 409


async def test_only_admins_can_rejudge(
    ada: Api, admin: Api, pool: Pool, artifacts: Artifacts
) -> None:
    found = JUDGEMENTS[Verdict.ACCEPTED]
    mine = await judged_submission(pool, artifacts, ada.user.id, found)
    for submission in (mine, "sub_" + "0" * 26):
        answer = await ada.post(f"/v1/submissions/{submission}/rejudge")
        assert answer.status_code == 403
        assert answer.json()["type"] == "urn:deemster:error:forbidden"
    unheard = await admin.post(f"/v1/submissions/sub_{'0' * 26}/rejudge")
    assert unheard.status_code == 404
