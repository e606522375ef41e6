"""A8: pages of lists have no gap and no repeat, and show only what the caller may see."""

from typing import Any

import pytest

from deemster.domain.ids import ProblemId, SubmissionId
from deemster.domain.verdict import Verdict
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool
from tests.api.conftest import Api, change_problem
from tests.api.judgements import JUDGEMENTS, judged_submission
from tests.builders import make_problem, make_submission, start_submission

PATH = "/v1/submissions"


async def items(api: Api, **query: Any) -> list[str]:
    answer = await api.get(PATH, params=query)
    assert answer.status_code == 200, answer.text
    return [each["id"] for each in answer.json()["items"]]


async def test_pages_have_no_gap_and_no_repeat_while_submissions_arrive(
    ada: Api, pool: Pool
) -> None:
    there = [await make_submission(pool, ada.user.id) for _ in range(7)]
    seen: list[str] = []
    cursor = None
    while True:
        query = {"limit": 2, **({"cursor": cursor} if cursor else {})}
        page = (await ada.get(PATH, params=query)).json()
        seen += [each["id"] for each in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
        assert len(page["items"]) == 2
        await make_submission(pool, ada.user.id)
    assert seen == sorted(there, reverse=True)


async def test_a_full_last_page_has_no_next_cursor(ada: Api, pool: Pool) -> None:
    for _ in range(2):
        await make_submission(pool, ada.user.id)
    answer = await ada.get(PATH, params={"limit": 2})
    assert len(answer.json()["items"]) == 2
    assert answer.json()["next_cursor"] is None


async def test_users_see_their_own_submissions_and_admins_see_all(
    ada: Api, bob: Api, admin: Api, pool: Pool
) -> None:
    """A11."""
    first = await make_submission(pool, ada.user.id)
    second = await make_submission(pool, bob.user.id)
    assert await items(ada) == [first]
    assert await items(ada, user="ada") == await items(ada, user=ada.user.id) == [first]
    assert await items(admin) == [second, first]
    assert await items(admin, user="bob") == await items(admin, user=bob.user.id) == [second]
    for name in ("bob", bob.user.id, "nobody"):
        answer = await ada.get(PATH, params={"user": name})
        assert answer.status_code == 403
        assert answer.json()["type"] == "urn:deemster:error:forbidden"
    assert (await admin.get(PATH, params={"user": "nobody"})).status_code == 404


async def test_each_filter_selects_matching_submissions(
    ada: Api, pool: Pool, artifacts: Artifacts
) -> None:
    waiting = await make_submission(pool, ada.user.id, language="cpp")
    running = await make_submission(pool, ada.user.id)
    await start_submission(pool, running)
    wrong = await judged_submission(
        pool, artifacts, ada.user.id, JUDGEMENTS[Verdict.WRONG_ANSWER]
    )
    other = await change_problem(pool, id=ProblemId("prob_other"))
    accepted = await judged_submission(
        pool, artifacts, ada.user.id, JUDGEMENTS[Verdict.ACCEPTED], other
    )
    expected: dict[tuple[tuple[str, str], ...], list[SubmissionId]] = {
        (("status", "queued"),): [waiting],
        (("status", "running"),): [running],
        (("status", "finished"),): [accepted, wrong],
        (("status", "failed"),): [],
        (("verdict", "Wrong Answer"),): [wrong],
        (("problem", "prob_other"),): [accepted],
        (("language", "cpp"),): [waiting],
        (("language", "C++"),): [waiting],
        (("problem", "prob_sum"), ("verdict", "Accepted")): [],
        (("problem", "prob_sum"), ("status", "finished")): [wrong],
    }
    for query, found in expected.items():
        assert await items(ada, **dict(query)) == found, query


async def test_a_list_item_has_the_main_fields(
    ada: Api, pool: Pool, artifacts: Artifacts
) -> None:
    await judged_submission(pool, artifacts, ada.user.id, JUDGEMENTS[Verdict.TIME_LIMIT])
    answer = await ada.get(PATH)
    (line,) = answer.json()["items"]
    assert (line["status"], line["verdict"]) == ("finished", "Time Limit Exceeded")
    assert (line["user"], line["user_id"]) == ("ada", ada.user.id)
    assert (line["runtime_ms"], line["memory_kb"]) == (34, 1200)
    assert (line["passed_cases"], line["total_cases"]) == (1, 2)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": 101}, "limit"),
        ({"limit": "many"}, "limit"),
        ({"cursor": "?"}, "cursor"),
        ({"cursor": "AAAA"}, "cursor"),
        ({"cursor": "_" * 300}, "cursor"),
        ({"verdict": "Fine"}, "verdict"),
        ({"status": "pending"}, "status"),
        ({"problem": "prob_\0"}, "problem"),
        ({"user": "\0"}, "user"),
        ({"page": 2}, "page"),
    ],
)
async def test_an_invalid_query_parameter_is_named(
    ada: Api, query: dict[str, Any], field: str
) -> None:
    """A6."""
    answer = await ada.get(PATH, params=query)
    assert answer.status_code == 422, answer.text
    assert [each["field"] for each in answer.json()["errors"]] == [field]


async def test_an_unknown_language_is_refused(ada: Api) -> None:
    assert (await ada.get(PATH, params={"language": "klingon"})).status_code == 422


async def test_problems_are_listed_by_id(ada: Api, pool: Pool) -> None:
    for slug in ("c", "a", "b"):
        await make_problem(pool, slug)
    seen: list[str] = []
    cursor = None
    while True:
        query = {"limit": 2, **({"cursor": cursor} if cursor else {})}
        page = (await ada.get("/v1/problems", params=query)).json()
        seen += [each["id"] for each in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == ["prob_a", "prob_b", "prob_c"]


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("user=nobody", 404),
        ("problem=prob_nothing", 404),
        ("contest=con_nothing", 404),
        ("language=cobol-9", 422),
        ("verdict=Splendid", 422),
        ("status=asleep", 422),
    ],
)
async def test_a8_a_filter_refuses_what_does_not_exist(
    admin: Api, query: str, status: int
) -> None:
    """An object that does not exist is 404, a word that the judge does not know is 422."""
    answer = await admin.get(f"/v1/submissions?{query}")
    assert answer.status_code == status, answer.text
