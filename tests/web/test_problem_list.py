"""The list of problems: filters in the address, marks, pages, and a way out of nothing (W1)."""

import re
from dataclasses import replace

import httpx

from deemster.domain.ids import RevisionDigest
from deemster.domain.verdict import Verdict
from deemster.store import problems
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool, connection
from tests.api.browser import make_person
from tests.api.judgements import JUDGEMENTS, judged_submission
from tests.builders import make_problem
from tests.web.conftest import Visit

FIRST = {"HX-Request": "true"}


async def add(pool: Pool, slug: str, *keywords: str) -> None:
    summary = await make_problem(pool, slug)
    digest = RevisionDigest(summary.digest[::-1])
    async with connection(pool) as acquired, acquired.transaction():
        changed = replace(summary, digest=digest, details={"keywords": keywords})
        await problems.publish(acquired, changed)


def links(answer: httpx.Response) -> list[str]:
    return [each.replace("&amp;", "&") for each in re.findall(r'href="(/[^"]*)"', answer.text)]


async def test_w1_filters_are_part_of_the_address(
    visit: Visit, pool: Pool, artifacts: Artifacts
) -> None:
    owner = await make_person(pool)
    await add(pool, "apples", "level-2", "fruit", "trees")
    await add(pool, "pears", "level-9", "fruit")
    for number in range(60):
        await add(pool, f"plums{number}", "stones")
    summary = await make_problem(pool, "cherries")
    await judged_submission(pool, artifacts, owner, JUDGEMENTS[Verdict.ACCEPTED], summary)
    async with visit("ada") as browser:
        shown = await browser.get("/problems?q=apples&difficulty=easy&result=open&tag=fruit")
        assert 'href="/problems/prob_apples"' in shown.text
        assert "prob_pears" not in shown.text
        assert 'value="apples"' in shown.text
        assert re.search(r'value="easy" selected', shown.text)
        assert "/problems?q=apples&difficulty=easy&result=open&tag=fruit&tag=trees" in links(
            shown
        )
        assert "/problems?q=apples&difficulty=easy&result=open" in links(shown)

        first = await browser.get("/problems?tag=stones&sort=newest")
        (following,) = [each for each in links(first) if "cursor=" in each]
        assert "sort=newest" in following
        second = await browser.get(following)
        assert second.text.count('<th scope="row">') == 10
        assert "/problems?sort=newest&tag=stones" in links(second), "back to the first page"

        solved = await browser.get("/problems?result=solved")
        assert "prob_cherries" in solved.text
        assert "✓" in solved.text


async def test_w1_nothing_found_has_a_sentence_and_a_way_out(visit: Visit, pool: Pool) -> None:
    await make_person(pool)
    async with visit("ada") as browser:
        assert "There are no problems yet." in (await browser.get("/problems")).text
        await add(pool, "apples", "fruit")
        nothing = await browser.get("/problems?q=none&tag=&difficulty=")
        assert "No problem matches your search." in nothing.text
        assert "/problems" in links(nothing)
        wrong = await browser.get("/problems?sort=wrong")
        assert wrong.status_code == 422


async def test_scripts_get_the_results_only(visit: Visit, pool: Pool) -> None:
    await make_person(pool)
    await add(pool, "apples", "fruit")
    async with visit("ada") as browser:
        part = await browser.get("/problems?q=app", headers=FIRST)
    assert part.text.startswith('<div id="results">')
    assert "prob_apples" in part.text


async def test_o6_an_expired_log_in_opens_the_log_in_page_instead_of_a_part(
    visitor: httpx.AsyncClient,
) -> None:
    answer = await visitor.get("/problems?q=x", headers=FIRST)
    assert answer.status_code == 401
    assert answer.headers["HX-Redirect"] == "/login?next=/problems%3Fq%3Dx"
