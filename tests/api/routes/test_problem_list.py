"""A8, W1: problems are searched, filtered, sorted and paged by one query."""

import base64
from typing import Any

import pytest

from deemster.domain.ids import ProblemId
from deemster.domain.verdict import Verdict
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool, connection
from tests.api.conftest import Api, change_problem
from tests.api.judgements import JUDGEMENTS, judged_submission

PROBLEMS = {
    "prob_alps": ("Über die Alpen", ["level-8", "graphs", "shortest paths"]),
    "prob_bags": ("Bags 2", ["level-2", "greedy"]),
    "prob_cats": ("Cats and graphs", ["strings"]),
    "prob_dots": ("Bags 10", ["medium", "graphs", "Greedy"]),
}
COUNTS = "INSERT INTO problem_tally (problem_id, submits, accepted) VALUES ($1, $2, $3)"
MANY = """
INSERT INTO problem (id, revision, sort_title, level, created_at)
SELECT 'prob_' || n, repeat('a', 64), 'title ' || n % 3, NULLIF(n % 4, 0),
       now() - n % 5 * interval '1 hour'
  FROM generate_series(100, 249) AS n;
INSERT INTO problem_revision (problem_id, digest, number, title, time_ms, memory_bytes,
    source_bytes, cases, details)
SELECT id, revision, 1, id, 1, 1, 1, 1, '{}' FROM problem WHERE revision = repeat('a', 64)"""


@pytest.fixture
async def listed(ada: Api, pool: Pool, artifacts: Artifacts) -> Api:
    """Ada solved the bags, and tried the cats, of which 3 of 12 submissions are accepted."""
    for problem, (title, keywords) in PROBLEMS.items():
        summary = await change_problem(
            pool, id=ProblemId(problem), title=title, details={"keywords": keywords}
        )
        verdicts = {"prob_bags": Verdict.ACCEPTED, "prob_cats": Verdict.WRONG_ANSWER}
        if verdict := verdicts.get(problem):
            await judged_submission(pool, artifacts, ada.user.id, JUDGEMENTS[verdict], summary)
    async with connection(pool) as acquired:
        await acquired.execute("DELETE FROM problem_tally WHERE problem_id = 'prob_cats'")
        await acquired.execute(COUNTS, "prob_cats", 12, 3)
        await acquired.execute("UPDATE problem SET retired_at = now() WHERE id = 'prob_sum'")
    return ada


async def found(api: Api, query: str) -> list[str]:
    answer = await api.get(f"/v1/problems?{query}")
    assert answer.status_code == 200, answer.text
    return [each["id"].removeprefix("prob_") for each in answer.json()["items"]]


SEARCHES = {
    "": ["alps", "bags", "cats", "dots"],
    "q=bag": ["bags", "dots"],
    "q=BAG+2": ["bags"],
    "q=uber": ["alps"],
    "q=%C3%BCber+alp": ["alps"],
    "q=graph": ["alps", "cats", "dots"],
    "q=raph": [],
    "q='+%7C+x": [],
    "tag=graphs": ["alps", "dots"],
    "tag=graphs&tag=greedy": ["dots"],
    "tag=Shortest%20paths": ["alps"],
    "difficulty=easy": ["bags"],
    "difficulty=medium": ["dots"],
    "difficulty=hard": ["alps", "cats"],
    "result=solved": ["bags"],
    "result=tried": ["cats"],
    "result=open": ["alps", "dots"],
    "result=open&tag=greedy&q=10": ["dots"],
    "sort=title": ["bags", "dots", "cats", "alps"],
    "sort=difficulty": ["bags", "dots", "alps", "cats"],
    "sort=solved": ["cats", "bags", "alps", "dots"],
    "sort=newest": ["dots", "cats", "bags", "alps"],
}


async def test_a8_problems_are_searched_and_sorted(listed: Api) -> None:
    assert {query: await found(listed, query) for query in SEARCHES} == SEARCHES


async def test_w1_the_difficulty_is_the_authors_or_comes_from_the_acceptance_rate(
    listed: Api, pool: Pool
) -> None:
    async def shown() -> dict[str, tuple[Any, ...]]:
        items = (await listed.get("/v1/problems?limit=51")).json()["items"]
        return {each["id"]: (each["difficulty"], each["difficulty_given"]) for each in items}

    assert (await shown())["prob_bags"] == (2, True)
    rates = {(9, 9): None, (10, 10): 1, (10, 5): 6, (100, 33): 8, (10, 0): 10}
    levels = {}
    for submits, accepted in rates:
        async with connection(pool) as acquired:
            await acquired.execute("DELETE FROM problem_tally WHERE problem_id = 'prob_cats'")
            await acquired.execute(COUNTS, "prob_cats", submits, accepted)
        levels[submits, accepted] = (await shown())["prob_cats"][0]
    assert levels == rates


async def test_a8_pages_of_every_order_have_each_problem_once(ada: Api, pool: Pool) -> None:
    async with connection(pool) as acquired:
        await acquired.execute(MANY)
    for sort in ("id", "title", "difficulty", "solved", "newest"):
        seen: list[str] = []
        query = f"/v1/problems?sort={sort}&limit=40"
        cursor: str | None = ""
        while cursor is not None:
            page = (await ada.get(f"{query}&cursor={cursor}" if cursor else query)).json()
            seen += [each["id"] for each in page["items"]]
            cursor = page["next_cursor"]
        assert len(seen) == len(set(seen)) == 150, sort


async def test_a8_no_cursor_tells_of_a_problem_that_is_not_published(
    listed: Api, pool: Pool
) -> None:
    """A8: a page that starts after a draft would tell that it exists, and where its title,
    difficulty and age stand among those of others.
    """
    async with connection(pool) as acquired:
        await acquired.execute("UPDATE problem SET published = FALSE WHERE id = 'prob_bags'")
    for sort in ("title", "difficulty", "solved", "newest"):
        draft, unknown = [
            await found(listed, f"sort={sort}&cursor={cursor_of(problem)}")
            for problem in ("prob_bags", "prob_none")
        ]
        assert draft == unknown == [], sort


def cursor_of(problem: str) -> str:
    return base64.urlsafe_b64encode(problem.encode()).decode().rstrip("=")


@pytest.mark.parametrize("query", ["sort=x", "difficulty=11", "result=x", f"q={'x' * 201}"])
async def test_a6_a_wrong_filter_is_refused(ada: Api, query: str) -> None:
    answer = await ada.get(f"/v1/problems?{query}")
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == query.split("=", maxsplit=1)[0]
