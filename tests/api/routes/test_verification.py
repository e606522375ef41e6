"""W3: `/v1/problems/{id}/verification`: a package's examples are judged, and count nowhere."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from deemster.domain.account import Role
from deemster.domain.ids import SubmissionId
from deemster.domain.retry_policy import MaxTries
from deemster.domain.verdict import Verdict
from deemster.pipeline.verdict.attempt import settle
from deemster.pipeline.verdict.retry import rescue
from deemster.store import counters
from deemster.store.artifacts import Artifacts
from deemster.store.lifecycle import StateChanged
from deemster.store.pool import Pool, connection
from tests.api.conftest import Api, make_user, make_worker, program
from tests.api.routes.test_problem_import import eve, mallory, package, send, zipped
from tests.builders import judged, queue_submission, start_submission

__all__ = ["eve", "mallory", "package"]
PATH = "/v1/problems/prob_mine/verification"


async def judge(
    pool: Pool, artifacts: Artifacts, example: dict[str, Any], verdict: Verdict
) -> None:
    submission = SubmissionId(example["submission_id"])
    await queue_submission(pool, submission)
    await settle(pool, artifacts, await start_submission(pool, submission), judged(verdict))


@pytest.fixture
async def imported(eve: Api, pool: Pool, package: Path) -> None:
    await make_worker(pool)
    (package / "submissions" / "accepted" / "unknown.zig").write_text("const x = 1;\n")
    answer = await send(eve, zipped(package), "/v1/problems?publish=false")
    assert answer.status_code == 201, answer.text


async def test_i1_each_example_is_judged_once_however_often_it_is_asked_for(
    eve: Api, pool: Pool, imported: None
) -> None:
    before = (await eve.get(PATH)).json()
    assert (before["state"], before["examples"], before["ok"]) == ("none", [], None)
    answers = await asyncio.gather(*(eve.post(PATH) for _ in range(5)))
    assert {answer.status_code for answer in answers} == {202}
    found = (await eve.get(PATH)).json()
    assert found["state"] == "judging"
    ids = [each["submission_id"] for each in found["examples"]]
    async with connection(pool) as acquired:
        jobs = await acquired.fetch("SELECT work_id FROM outbox ORDER BY work_id")
    assert [row["work_id"] for row in jobs] == sorted(filter(None, ids))
    [unknown] = [each for each in found["examples"] if each["submission_id"] is None]
    assert unknown["path"].endswith("unknown.zig")
    assert (unknown["matches"], len(unknown["reasons"])) == (False, 1)
    assert (await eve.post(f"{PATH}?again=true")).json()["examples"] == found["examples"], (
        "a verification that goes on is not begun again"
    )


async def test_w3_results_are_compared_with_the_labels_and_can_be_repeated(
    eve: Api, pool: Pool, artifacts: Artifacts, package: Path, imported: None
) -> None:
    examples = (await eve.post(PATH)).json()["examples"]
    for each in examples:
        if each["submission_id"] is not None:
            await judge(pool, artifacts, each, Verdict.ACCEPTED)
    done = (await eve.get(PATH)).json()
    assert (done["state"], done["ok"]) == ("done", False)
    for each in done["examples"]:
        if each["submission_id"] is None:
            continue
        expects_accepted = each["label"] == "accepted"
        assert each["matches"] is expects_accepted, each
        assert bool(each["reasons"]) is not expects_accepted
        assert each["slowest_case"]
    again = (await eve.post(f"{PATH}?again=true")).json()
    assert again["state"] == "judging"
    ids = {each["submission_id"] for each in again["examples"]} - {None}
    assert ids.isdisjoint(each["submission_id"] for each in examples)


async def test_q6_an_example_whose_worker_died_gets_one_result(
    eve: Api, pool: Pool, artifacts: Artifacts, imported: None
) -> None:
    example = (await eve.post(PATH)).json()["examples"][0]
    submission = SubmissionId(example["submission_id"])
    await queue_submission(pool, submission)
    first = await start_submission(pool, submission, lease_s=1e-6)
    assert await rescue(pool, max_tries=MaxTries(3, 3)) == 1
    second = await start_submission(pool, submission)
    await settle(pool, artifacts, second, judged(Verdict.ACCEPTED))
    with pytest.raises(StateChanged):
        await settle(pool, artifacts, first, judged(Verdict.WRONG_ANSWER))
    found = (await eve.get(PATH)).json()["examples"][0]
    assert (found["submission_id"], found["verdict"]) == (submission, "Accepted")


async def test_a11_examples_count_nowhere_and_only_the_jury_sees_them(
    eve: Api, mallory: Api, ada: Api, pool: Pool, artifacts: Artifacts, imported: None
) -> None:
    root = Api(eve.client, await make_user(pool, "root", Role.ADMIN))
    example, broken = (await eve.post(PATH)).json()["examples"][:2]
    await judge(pool, artifacts, example, Verdict.ACCEPTED)
    await judge(pool, artifacts, broken, Verdict.JUDGE_ERROR)
    submission = f"/v1/submissions/{example['submission_id']}"
    for api, statuses in {
        eve: (200, 200, 200),
        root: (200, 200, 200),
        mallory: (404, 404, 404),
        ada: (403, 404, 403),
    }.items():
        paths = (PATH, submission, f"{submission}/judgement")
        assert tuple([(await api.get(path)).status_code for path in paths]) == statuses
    assert (await mallory.post(PATH)).status_code == 404
    for api in (eve, root):
        assert (await api.get("/v1/submissions")).json()["items"] == []
    shown = (await eve.get("/v1/problems/prob_mine")).json()
    assert (shown["submits"], shown["accepted"]) == (0, 0)
    [listed] = (await eve.get("/v1/problems?drafts=true&mine=true")).json()["items"]
    assert listed["mine"] is None
    assert (await root.post(f"{submission}/rejudge")).status_code == 409
    own = (await eve.post("/v1/submissions", program("prob_mine"))).json()
    assert (await eve.show(own["id"]))["queue_position"] == 1, "it does not wait for examples"
    async with connection(pool) as acquired:
        assert await counters.find_mismatches(acquired) == []
        assert await counters.judge_errors(acquired) == {}, "whoever verifies sees it"
