"""People log in, read a problem, submit, and see the verdict, all without JavaScript (W1)."""

import re
from dataclasses import replace

import httpx
import pytest

from deemster.domain.ids import RevisionDigest
from deemster.domain.verdict import Verdict
from deemster.store import problems
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool, connection
from tests.api.browser import PASSWORD, make_person
from tests.api.judgements import HIDDEN, JUDGEMENTS, judged_submission
from tests.builders import make_problem
from tests.web.conftest import Visit

STATEMENT = '<p>Add <span class="math inline">\\(a_1 < 10^9\\)</span> &amp; b.</p>'


def field(answer: httpx.Response, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', answer.text)
    assert found, answer.text
    return found[1]


async def publish(pool: Pool, slug: str = "sum") -> None:
    summary = await make_problem(pool, slug)
    details = {"statements": {"en": STATEMENT}, "samples": [{"input": "1 2", "output": "3"}]}
    async with connection(pool) as acquired, acquired.transaction():
        await problems.publish(
            acquired,
            replace(summary, digest=RevisionDigest(summary.digest[::-1]), details=details),
        )


async def test_w1_a_visitor_signs_up_reads_submits_and_sees_the_submission(
    visitor: httpx.AsyncClient, pool: Pool
) -> None:
    await publish(pool)
    asked = await visitor.get("/problems/prob_sum")
    assert asked.headers["location"] == "/login?next=/problems/prob_sum"
    form = {"name": "grace", "password": PASSWORD}
    assert (await visitor.post("/signup", data=form)).headers["location"] == "/problems"

    listed = await visitor.get("/problems")
    assert 'href="/problems/prob_sum"' in listed.text
    shown = await visitor.get("/problems/prob_sum")
    assert "<math" in shown.text, "formulas are MathML"
    assert "1 2</pre>" in shown.text
    answer = {
        "csrf_token": field(shown, "csrf_token"),
        "key": field(shown, "key"),
        "language": "python3",
        "source": "print(1)\r\nprint(2)",
    }
    first = await visitor.post("/problems/prob_sum", data=answer)
    second = await visitor.post("/problems/prob_sum", data=answer)
    assert first.status_code == 303
    assert second.headers["location"] == first.headers["location"], "sent twice, counted once"
    submission = await visitor.get(first.headers["location"])
    assert "print(1)\nprint(2)" in re.sub("<[^>]+>", "", submission.text)
    assert 'http-equiv="refresh"' in submission.text, "it is not judged yet"
    assert first.headers["location"] in (await visitor.get("/submissions")).text


async def test_a_refused_submission_keeps_what_was_typed(visit: Visit, pool: Pool) -> None:
    await publish(pool)
    await make_person(pool)
    async with visit("ada") as browser:
        shown = await browser.get("/problems/prob_sum")
        answer = {
            "csrf_token": field(shown, "csrf_token"),
            "language": "nonsense",
            "source": "<keep & this>",
        }
        refused = await browser.post("/problems/prob_sum", data=answer)
    assert refused.status_code == 422
    assert 'role="alert"' in refused.text
    assert "&lt;keep &amp; this&gt;" in refused.text


async def test_a_form_of_another_site_is_refused(visit: Visit, pool: Pool) -> None:
    await publish(pool)
    await make_person(pool)
    answer = {"language": "python3", "source": "x"}
    async with visit("ada") as browser:
        without = await browser.post("/problems/prob_sum", data=answer)
        token = field(await browser.get("/problems/prob_sum"), "csrf_token")
        elsewhere = await browser.post(
            "/problems/prob_sum",
            data={**answer, "csrf_token": token},
            headers={"Origin": "https://evil.example"},
        )
    assert (without.status_code, elsewhere.status_code) == (403, 403)


async def test_a11_nobody_sees_the_submission_of_another(
    visit: Visit, pool: Pool, artifacts: Artifacts
) -> None:
    owner = await make_person(pool, "owner")
    await make_person(pool, "other")
    submission = await judged_submission(pool, artifacts, owner, JUDGEMENTS[Verdict.ACCEPTED])
    async with visit("other") as browser:
        answer = await browser.get(f"/submissions/{submission}")
        assert answer.status_code == 404
        assert submission not in (await browser.get("/submissions")).text


@pytest.mark.parametrize("verdict", JUDGEMENTS)
async def test_w1_each_verdict_has_its_page(
    verdict: Verdict, visit: Visit, pool: Pool, artifacts: Artifacts
) -> None:
    """A11: hidden data is on none of them."""
    owner = await make_person(pool)
    submission = await judged_submission(pool, artifacts, owner, JUDGEMENTS[verdict])
    async with visit("ada") as browser:
        shown = await browser.get(f"/submissions/{submission}")
        assert verdict in shown.text
        assert HIDDEN not in shown.text
        link = re.search(r'href="(/verdicts/[^"]+)"', shown.text)
        assert link
        assert verdict in (await browser.get(link[1])).text


async def test_a_log_in_leads_only_to_pages_of_this_site(
    visitor: httpx.AsyncClient, pool: Pool
) -> None:
    await make_person(pool)
    for target in ("https://evil.example", "//evil.example", "/\\evil.example", "x", "/\tx"):
        form = {"name": "ada", "password": PASSWORD, "next": target}
        answer = await visitor.post("/login", data=form)
        assert answer.headers["location"] == "/problems", target
        visitor.cookies.clear()


async def test_a_wrong_password_keeps_the_name(visitor: httpx.AsyncClient) -> None:
    answer = await visitor.post("/login", data={"name": "ada", "password": "wrong"})
    assert answer.status_code == 401
    assert 'value="ada"' in answer.text


async def test_pages_are_translated(visitor: httpx.AsyncClient) -> None:
    german = await visitor.get("/login", headers={"Accept-Language": "fr, de;q=0.8, en;q=0.5"})
    assert '<html lang="de">' in german.text
    assert "Anmelden" in german.text
    await visitor.post("/language", data={"language": "en"})
    chosen = await visitor.get("/login", headers={"Accept-Language": "de"})
    assert '<html lang="en">' in chosen.text


async def test_programs_get_json_at_the_root_and_browsers_the_problems(
    visitor: httpx.AsyncClient,
) -> None:
    page = await visitor.get("/", headers={"Accept": "text/html,*/*"})
    assert page.headers["location"] == "/problems"
    assert (await visitor.get("/")).json()


async def test_scripts_and_styles_come_from_this_server_only(
    visitor: httpx.AsyncClient,
) -> None:
    answer = await visitor.get("/login")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers.get_list("referrer-policy") == ["same-origin"]
    assert not re.search(r"(src|href)=\"https?:", answer.text)
    style = re.search(r'href="(/static/deemster\.\w+\.css)"', answer.text)
    assert style
    fetched = await visitor.get(style[1])
    assert "immutable" in fetched.headers["cache-control"]
    assert (await visitor.get("/static/../page.py")).status_code == 404
