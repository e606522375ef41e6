"""Evaluations: who sees what, corrections by teachers, rubrics, tiers, budgets and spend."""

from typing import Any

import httpx
import pytest

from deemster.domain.account import Role
from deemster.domain.evaluation import (
    Answer,
    AnsweredBy,
    Evaluation,
    Flag,
    Hint,
    Method,
    Quote,
    Usage,
    Variant,
    WithoutModel,
)
from deemster.domain.ids import AccountId, ProblemId, SubmissionId
from deemster.domain.model_tier import Micros, TierName
from deemster.domain.rubric import QuestionId
from deemster.pipeline.evaluate.evaluator import rubric_in_force
from deemster.pipeline.evaluate.rubric_file import shipped_general_rubric
from deemster.store import evaluations, problems
from deemster.store.pool import Pool, connection, transaction
from tests.api.conftest import Api, make_user
from tests.builders import make_problem, make_submission

RUBRICS = "/v1/admin/rubrics"
TIERS = "/v1/admin/evaluation/tiers"
BUDGETS = "/v1/admin/evaluation/budgets"
TIER = {
    "name": "cheap",
    "base_url": "https://models.example.org/v1",
    "model": "small",
    "input_price": 0.15,
    "output_price": 0.6,
    "key_name": "cheap",
}
ANSWERS = (
    Answer(QuestionId("passes_all_tests"), True, AnsweredBy.FACTS),
    Answer(QuestionId("repeats_work"), False, AnsweredBy.MODEL, (Quote(1, 3),)),
)


@pytest.fixture
async def teacher(client: httpx.AsyncClient, pool: Pool) -> Api:
    """Owns the usual problem."""
    user = await make_user(pool, "teacher", Role.AUTHOR)
    async with transaction(pool) as writing:
        digest = (await make_problem(pool)).digest
        await problems.claim(writing, ProblemId("prob_sum"), digest, user.id)
        await writing.execute("UPDATE problem SET owner_id = $1", user.id)
    return Api(client, user)


async def evaluated(pool: Pool, account: AccountId, **more: Any) -> SubmissionId:
    submission = await make_submission(pool, account)
    async with transaction(pool) as writing:
        version = await rubric_in_force(writing, ProblemId("prob_sum"))
        fields: dict[str, Any] = {
            "score": 80.0,
            "method": Method.MODEL,
            "answers": ANSWERS,
            "hints": (Hint(QuestionId("repeats_work"), "Keep it."),),
            "tier": TierName("cheap"),
            "scores": {Variant.PLAIN: 80.0, Variant.NEUTRAL: 80.0},
            "usage": Usage(2, 2000, 400, Micros(1500), 900),
        }
        await evaluations.add(
            writing,
            Evaluation(submission, version.id, version.number, **{**fields, **more}),
        )
    return submission


def path_of(submission: str) -> str:
    return f"/v1/submissions/{submission}/evaluation"


async def put(api: Api, path: str, body: Any) -> httpx.Response:
    return await api.client.put(path, json=body, headers=api.user.headers)


async def test_the_owner_sees_the_score_and_teachers_also_its_cost(
    ada: Api, bob: Api, teacher: Api, admin: Api, pool: Pool
) -> None:
    submission = await evaluated(pool, ada.user.id)
    own = (await ada.get(path_of(submission))).json()
    assert (own["score"], own["method"], own["flagged"]) == (80, "model", False)
    assert own["answers"][1] == {
        "criterion": "efficiency",
        "question": "repeats_work",
        "text": own["answers"][1]["text"],
        "answer": "no",
        "earned": True,
        "answered_by": "model",
        "lines": [{"file": 1, "line": 3}],
    }
    assert own["feedback"] == [{"question": "repeats_work", "text": "Keep it."}]
    assert own.keys().isdisjoint({"usage", "tier", "scores", "flag", "computed_score"})
    for api in (teacher, admin):
        shown = (await api.get(path_of(submission))).json()
        assert shown["usage"]["cost"] == 0.0015
        assert shown["tier"] == "cheap"
    assert (await bob.get(path_of(submission))).status_code == 404


async def test_a_submission_without_evaluation_is_not_found(ada: Api, pool: Pool) -> None:
    submission = await make_submission(pool, ada.user.id)
    answer = await ada.get(path_of(submission))
    assert (answer.status_code, "no evaluation" in answer.text) == (404, True)


async def test_p5_a_flagged_score_is_not_shown_to_the_student(
    ada: Api, teacher: Api, pool: Pool
) -> None:
    submission = await evaluated(
        pool,
        ada.user.id,
        score=None,
        flag=Flag.SCORE_MOVED,
        hints=(),
        scores={Variant.PLAIN: 100.0, Variant.NEUTRAL: 40.0},
    )
    own = (await ada.get(path_of(submission))).json()
    assert (own["score"], own["flagged"]) == (None, True)
    assert [each["answered_by"] for each in own["answers"]] == ["facts"]
    shown = (await teacher.get(path_of(submission))).json()
    assert shown["flag"] == "score_moved"
    assert shown["scores"] == {"plain": 100, "neutral": 40}
    assert len(shown["answers"]) == 2


async def test_p3_a_result_without_a_model_says_so(ada: Api, pool: Pool) -> None:
    submission = await evaluated(
        pool,
        ada.user.id,
        method=Method.DETERMINISTIC,
        without_model=WithoutModel.NOT_CONFIGURED,
        tier=None,
    )
    own = (await ada.get(path_of(submission))).json()
    assert (own["method"], own["without_model"]) == ("deterministic", "not_configured")


async def test_a_teacher_corrects_a_score_and_the_old_one_is_kept(
    ada: Api, bob: Api, teacher: Api, admin: Api, pool: Pool
) -> None:
    submission = await evaluated(pool, ada.user.id, score=None, flag=Flag.SCORE_MOVED)
    path = path_of(submission) + "/corrections"
    first = await teacher.post(path, {"score": 70, "reason": "Read it."}, key="once")
    again = await teacher.post(path, {"score": 70, "reason": "Read it."}, key="once")
    assert (first.status_code, again.json()) == (201, first.json())
    assert (await admin.post(path, {"score": 75.5, "reason": "Talked."})).status_code == 201
    shown = (await admin.get(path_of(submission))).json()
    assert (shown["score"], shown["computed_score"], shown["flagged"]) == (75.5, None, False)
    assert [
        (each["old_score"], each["score"], each["by"]) for each in shown["corrections"]
    ] == [(None, 70, "teacher"), (70, 75.5, "root")]
    own = (await ada.get(path_of(submission))).json()
    assert own["score"] == 75.5
    assert "by" not in own["corrections"][0]
    async with connection(pool) as reading:
        rows = await reading.fetch(
            "SELECT actor, target, details FROM audit WHERE act = 'evaluation.correct'"
        )
    assert [(row["actor"], row["target"]) for row in rows] == [
        ("teacher", submission),
        ("root", submission),
    ]
    assert rows[1]["details"] == {"old_score": 70, "new_score": 75.5, "reason": "Talked."}
    assert (await ada.post(path, {"score": 100, "reason": "Please."})).status_code == 403
    stranger = Api(bob.client, await make_user(pool, "other", Role.AUTHOR))
    assert (await stranger.post(path, {"score": 1, "reason": "No."})).status_code == 404


@pytest.mark.parametrize("score", [-1, 101, "NaN", None])
async def test_a_score_outside_0_to_100_is_refused(
    ada: Api, admin: Api, pool: Pool, score: Any
) -> None:
    submission = await evaluated(pool, ada.user.id)
    path = path_of(submission) + "/corrections"
    assert (await admin.post(path, {"score": score, "reason": "x"})).status_code == 422


async def test_versions_of_rubrics_are_kept_and_can_be_retired(admin: Api, pool: Pool) -> None:
    await make_problem(pool)
    yaml = shipped_general_rubric()
    first = await admin.post(RUBRICS, {"yaml": yaml})
    same = await admin.post(RUBRICS, {"yaml": yaml})
    assert (first.status_code, same.json()["id"]) == (201, first.json()["id"])
    second = (await admin.post(RUBRICS, {"yaml": yaml + "\n# changed\n"})).json()
    own = (await admin.post(RUBRICS, {"yaml": yaml, "problem_id": "prob_sum"})).json()
    assert (first.json()["version"], second["version"], own["version"]) == (1, 2, 1)
    listed = (await admin.get(RUBRICS)).json()["items"]
    assert [each["id"] for each in listed] == [own["id"], second["id"], first.json()["id"]]
    mine = (await admin.get(RUBRICS, params={"problem_id": "prob_sum"})).json()["items"]
    assert [each["id"] for each in mine] == [own["id"]]
    assert (await admin.get(f"{RUBRICS}/{own['id']}")).json()["yaml"] == yaml
    retired = await admin.delete(f"{RUBRICS}/{own['id']}")
    assert retired.json()["retired_at"] is not None
    async with connection(pool) as reading:
        acts = await reading.fetch("SELECT act FROM audit ORDER BY id")
        with pytest.raises(Exception, match="can not change"):
            await reading.execute("UPDATE rubric SET yaml = 'other'")
    assert [row["act"] for row in acts] == ["rubric.add"] * 3 + ["rubric.retire"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"yaml": "title: x"}, "'criteria' is missing"),
        ({"yaml": "\0"}, "not valid YAML"),
        ({"yaml": shipped_general_rubric(), "problem_id": "prob_none"}, "no problem"),
    ],
)
async def test_a_wrong_rubric_is_refused(admin: Api, body: Any, message: str) -> None:
    answer = await admin.post(RUBRICS, body)
    assert answer.status_code == 422
    assert message in answer.json()["detail"]


async def test_tiers_are_sorted_by_price_and_checked(admin: Api) -> None:
    dear = {**TIER, "name": "strong", "input_price": 5, "output_price": 15}
    answer = await put(admin, TIERS, {"tiers": [dear, TIER]})
    assert answer.status_code == 200, answer.text
    assert [each["name"] for each in answer.json()["tiers"]] == ["cheap", "strong"]
    assert (await admin.get(TIERS)).json() == answer.json()
    assert answer.json()["tiers"][0]["answers"] == 2
    for wrong in (
        {**TIER, "base_url": "http://127.0.0.1:11434/v1"},
        {**TIER, "base_url": "ftp://example.org"},
        {**TIER, "input_price": -1},
        {**TIER, "key": "sk-secret"},
    ):
        refused = await put(admin, TIERS, {"tiers": [wrong]})
        assert refused.status_code == 422
        assert "sk-secret" not in refused.text
    twice = await put(admin, TIERS, {"tiers": [TIER, TIER]})
    assert "named twice" in twice.text


async def test_budgets_and_spend(admin: Api, ada: Api, pool: Pool) -> None:
    assert (await admin.get(BUDGETS)).json() == {"submission": 0.25, "user_day": 2, "day": 20}
    changed = {"submission": 0.1, "user_day": 1.5, "day": 12}
    assert (await put(admin, BUDGETS, changed)).json() == changed
    submission = await evaluated(pool, ada.user.id)
    async with connection(pool) as writing:
        await writing.execute(
            "INSERT INTO model_call (submission_id, rubric_id, variant, tier, number,"
            " account_id, state, reserved_micros, charged_micros, input_tokens,"
            " output_tokens, content, settled_at)"
            " SELECT $1, rubric_id, 'plain', 'cheap', 1, $2, 'answered', 0, 1500, 1000, 200,"
            " '', now() FROM evaluation",
            submission,
            ada.user.id,
        )
    (spent,) = (await admin.get("/v1/admin/evaluation/spend")).json()["items"]
    assert (spent["tier"], spent["calls"], spent["cost"]) == ("cheap", 1, 0.0015)
    metrics = (await admin.get("/metrics")).text
    assert 'deemster_evaluation_cost_today{tier="cheap"} 0.0015' in metrics
    assert 'deemster_evaluation_calls_today{tier="cheap"} 1.0' in metrics
