"""A9: rejudgings, which only admins see."""

import asyncio
from typing import Any

import pytest

from deemster.domain.ids import SubmissionId
from deemster.domain.verdict import Verdict
from deemster.pipeline.verdict.attempt import settle
from deemster.store import audit, counters
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool, connection
from tests.api.conftest import Api
from tests.api.judgements import JUDGEMENTS, judged_submission
from tests.builders import make_problem, make_submission, start_submission

PATH = "/v1/admin/rejudgings"


async def made(admin: Api, **wanted: Any) -> dict[str, Any]:
    answer = await admin.post(PATH, wanted or {"problem": "prob_sum"})
    assert answer.status_code == 202, answer.text
    found: dict[str, Any] = answer.json()
    assert answer.headers["location"] == f"{PATH}/{found['id']}"
    return found


async def trial_of(pool: Pool, old: str) -> SubmissionId:
    async with connection(pool) as acquired:
        found = await acquired.fetchval("SELECT id FROM submission WHERE rejudge_of = $1", old)
    return SubmissionId(found)


async def judge(
    pool: Pool, artifacts: Artifacts, trial: SubmissionId, verdict: Verdict
) -> None:
    await settle(pool, artifacts, await start_submission(pool, trial), JUDGEMENTS[verdict])


async def test_a_rejudging_is_created_shown_and_applied(
    ada: Api, bob: Api, admin: Api, pool: Pool, artifacts: Artifacts
) -> None:
    wrong = JUDGEMENTS[Verdict.WRONG_ANSWER]
    partial = JUDGEMENTS[Verdict.PARTIAL]
    first = await judged_submission(pool, artifacts, ada.user.id, wrong)
    second = await judged_submission(pool, artifacts, bob.user.id, partial)
    third = await judged_submission(pool, artifacts, bob.user.id, wrong)
    found = await made(admin, problem="prob_sum", reason="case 7 was wrong")
    path = f"{PATH}/{found['id']}"
    assert (found["status"], found["matched"], found["is_ready"]) == ("open", 3, False)
    assert (found["made_by"], found["reason"]) == ("root", "case 7 was wrong")
    assert found["progress"]["waiting"] == found["progress"]["trials"] == 3
    assert (await admin.post(f"{path}/apply")).status_code == 409

    await judge(pool, artifacts, await trial_of(pool, first), Verdict.ACCEPTED)
    await judge(pool, artifacts, await trial_of(pool, second), Verdict.ACCEPTED)
    await judge(pool, artifacts, await trial_of(pool, third), Verdict.WRONG_ANSWER)
    shown = (await admin.get(path)).json()
    assert shown["is_ready"]
    assert (shown["verdicts_changed"], shown["scores_changed"]) == (2, 1)
    assert {(cell["old"], cell["new"]): cell["pairs"] for cell in shown["matrix"]} == {
        ("Wrong Answer", "Accepted"): 1,
        ("Partial", "Accepted"): 1,
        ("Wrong Answer", "Wrong Answer"): 1,
    }
    page = (await admin.get(f"{path}/changes", params={"limit": 1})).json()
    (change,) = page["items"]
    assert (change["old_id"], change["new_id"]) == (first, await trial_of(pool, first))
    assert (change["user"], change["problem_id"]) == ("ada", "prob_sum")
    assert (change["old_verdict"], change["new_verdict"]) == ("Wrong Answer", "Accepted")
    assert change["left_out"] is None
    rest = await admin.get(f"{path}/changes", params={"cursor": page["next_cursor"]})
    (last,) = rest.json()["items"]
    assert (last["old_id"], last["old_score"], last["new_score"]) == (second, 40.0, None)

    assert (await ada.show(first))["verdict"] == "Wrong Answer"  # as it will be remembered
    listed = (await ada.get("/v1/submissions")).json()["items"]
    assert [each["id"] for each in listed] == [first]
    done = await admin.post(f"{path}/apply")
    assert done.status_code == 200, done.text
    assert (done.json()["status"], done.json()["progress"]["applied"]) == ("applied", 3)
    new = await trial_of(pool, first)
    assert (await ada.show(first))["superseded_by"] == new
    assert (await ada.show(new))["verdict"] == "Accepted"
    assert "staged_in" not in await ada.show(new)
    listed = (await ada.get("/v1/submissions")).json()["items"]
    assert [each["id"] for each in listed] == [new]
    for again in ("apply", "drop"):
        assert (await admin.post(f"{path}/{again}")).status_code == 409
    (line,) = (await admin.get(PATH)).json()["items"]
    assert (line["id"], line["status"]) == (found["id"], "applied")
    async with connection(pool) as acquired:
        assert await counters.find_mismatches(acquired) == []
        audit_entries = await audit.page(acquired, before=None, limit=9, target=found["id"])
    assert [(each.act, each.actor) for each in audit_entries] == [
        ("rejudging.apply", "root"),
        ("rejudging.make", "root"),
    ]
    assert all(each.request_id for each in audit_entries)


async def test_the_owner_does_not_see_a_trial(
    ada: Api, admin: Api, pool: Pool, artifacts: Artifacts
) -> None:
    """A11: not even that the trial exists."""
    found = JUDGEMENTS[Verdict.ACCEPTED]
    old = await judged_submission(pool, artifacts, ada.user.id, found)
    rejudging = await made(admin, ids=[old])
    trial = await trial_of(pool, old)
    path = f"/v1/submissions/{trial}"
    for look in (path, f"{path}/source"):
        assert (await ada.get(look)).status_code == 404
    assert (await ada.delete(path)).status_code == 404
    listed = (await ada.get("/v1/submissions")).json()["items"]
    assert [each["id"] for each in listed] == [old]
    assert "superseded_by" not in await ada.show(old)
    assert (await admin.show(trial))["staged_in"] == rejudging["id"]
    assert (await admin.post(f"{path}/rejudge")).status_code == 409
    dropped = await admin.post(f"{PATH}/{rejudging['id']}/drop")
    assert (dropped.json()["status"], dropped.json()["progress"]["cancelled"]) == ("dropped", 1)
    assert (await ada.get(path)).status_code == 404


async def test_a_rejudging_selects_submissions_that_match_all_fields(
    ada: Api, bob: Api, admin: Api, pool: Pool, artifacts: Artifacts
) -> None:
    wrong = JUDGEMENTS[Verdict.WRONG_ANSWER]
    mine = await judged_submission(pool, artifacts, ada.user.id, wrong)
    await judged_submission(pool, artifacts, ada.user.id, JUDGEMENTS[Verdict.ACCEPTED])
    await judged_submission(pool, artifacts, bob.user.id, wrong)
    at = (await ada.show(mine))["submitted_at"]
    for wanted, matched in (
        ({"user": "ada"}, 2),
        ({"user": ada.user.id, "verdict": "Wrong Answer"}, 1),
        ({"verdict": "Wrong Answer", "language": "Python3"}, 2),
        ({"submitted_from": at}, 3),
        ({"submitted_from": at, "submitted_to": "9000-01-01T00:00:00Z", "user": "bob"}, 1),
        ({"ids": [mine, mine, "sub_unknown"]}, 1),
    ):
        assert (await made(admin, **wanted))["matched"] == matched, wanted
    for wanted in ({"submitted_to": at}, {"contest": "con_x"}, {"problem": "prob_x"}):
        answer = await admin.post(PATH, wanted)
        assert answer.status_code == 422, wanted
        assert "No submission matches" in answer.json()["detail"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"reason": "because"},
        {"outdated": False},
        {"outdated": "perhaps"},
        {"problem": "prob_sum", "what": 1},
        {"problem": "a\0b"},
        {"user": "nobody"},
        {"language": "klingon"},
        {"verdict": "Fine"},
        {"submitted_from": "2026-01-01T00:00:00"},
        {"submitted_from": "0001-01-01T00:00:00+14:00"},
        {"submitted_to": 10**18},
        {"ids": []},
        {"ids": ["sub_x"] * 10_001},
        {"problem": "prob_sum", "reason": "x" * 1001},
    ],
)
async def test_an_invalid_rejudging_is_refused_with_a_reason(
    admin: Api, body: dict[str, Any]
) -> None:
    """A6."""
    answer = await admin.post(PATH, body)
    assert answer.status_code == 422, answer.text


async def test_i1_a_repeated_key_returns_the_same_rejudging(
    ada: Api, admin: Api, pool: Pool, artifacts: Artifacts
) -> None:
    """I1, I2: also if many requests arrive at once."""
    await judged_submission(pool, artifacts, ada.user.id, JUDGEMENTS[Verdict.ACCEPTED])
    wanted = {"problem": "prob_sum"}
    answers = await asyncio.gather(*(admin.post(PATH, wanted, key="once") for _ in range(8)))
    answers.append(await admin.post(PATH, wanted, key="once"))
    assert {each.status_code for each in answers} == {202}
    assert len({each.json()["id"] for each in answers}) == 1
    assert {each.json()["progress"]["trials"] for each in answers} == {1}
    other = await admin.post(PATH, {"user": "ada"}, key="once")
    assert other.status_code == 422
    assert other.json()["type"] == "urn:deemster:error:idempotency_key_reused"
    assert len((await admin.get(PATH)).json()["items"]) == 1


async def test_only_admins_see_rejudgings(
    ada: Api, admin: Api, pool: Pool, artifacts: Artifacts
) -> None:
    """O6."""
    await judged_submission(pool, artifacts, ada.user.id, JUDGEMENTS[Verdict.ACCEPTED])
    path = f"{PATH}/{(await made(admin))['id']}"
    for look in (PATH, path, f"{path}/changes"):
        assert (await ada.get(look)).status_code == 403
    for act in (PATH, f"{path}/apply", f"{path}/drop"):
        assert (await ada.post(act, {"problem": "prob_sum"})).status_code == 403


@pytest.mark.parametrize("unknown", ["rej_" + "0" * 26, "nonsense", "x" * 5000, "%00"])
async def test_an_unknown_rejudging_is_not_found(admin: Api, unknown: str) -> None:
    path = f"{PATH}/{unknown}"
    for look in (path, f"{path}/changes"):
        assert (await admin.get(look)).status_code == 404
    for act in ("apply", "drop"):
        assert (await admin.post(f"{path}/{act}")).status_code == 404


async def test_rejudgings_are_listed_newest_first(
    ada: Api, admin: Api, pool: Pool, artifacts: Artifacts
) -> None:
    """A8."""
    await judged_submission(pool, artifacts, ada.user.id, JUDGEMENTS[Verdict.ACCEPTED])
    ids = [(await made(admin))["id"] for _ in range(3)]
    seen: list[str] = []
    params: dict[str, Any] = {"limit": 2}
    while True:
        page = (await admin.get(PATH, params=params)).json()
        seen += [each["id"] for each in page["items"]]
        if page["next_cursor"] is None:
            break
        params["cursor"] = page["next_cursor"]
    assert seen == sorted(ids, reverse=True)


async def test_queued_submissions_are_not_rejudged(ada: Api, admin: Api, pool: Pool) -> None:
    await make_submission(pool, ada.user.id)
    assert (await admin.post(PATH, {"problem": "prob_sum"})).status_code == 422


async def test_j9_outdated_selects_submissions_judged_with_older_test_data(
    ada: Api, admin: Api, pool: Pool, artifacts: Artifacts
) -> None:
    """`under_way` counts queued submissions with old and with current test data."""
    wrong = JUDGEMENTS[Verdict.WRONG_ANSWER]
    old = await judged_submission(pool, artifacts, ada.user.id, wrong)
    await make_submission(pool, ada.user.id)
    revised = await make_problem(pool, text="second")
    await judged_submission(pool, artifacts, ada.user.id, wrong, revised)
    await make_submission(pool, ada.user.id, revised)
    found = await made(admin, outdated=True, verdict="Wrong Answer")
    assert (found["matched"], found["under_way"]) == (1, {"unended": 1, "outdated": 1})
    assert found["wanted"] == {"verdict": "Wrong Answer", "outdated": True}
    assert (await admin.show(old))["revision"] == 1
    assert (await admin.show(await trial_of(pool, old)))["revision"] == 2
    both = await made(admin, outdated=False, problem="prob_sum")
    assert (both["matched"], both["under_way"]) == (2, {"unended": 2, "outdated": 1})
    assert both["wanted"] == {"problem": "prob_sum"}
    shown = (await admin.get(f"{PATH}/{both['id']}")).json()
    assert shown["under_way"] == both["under_way"]
