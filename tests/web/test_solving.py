"""People log in, read a problem, submit, and see the verdict, all without JavaScript (W1)."""

import re
from dataclasses import replace
from datetime import UTC, datetime

import httpx
import pytest

from deemster.api.models.submissions import Status, SubmissionOut
from deemster.domain.ids import RevisionDigest, WorkerId
from deemster.domain.judgement import CaseSoFar, ContestantCase
from deemster.domain.submission import JudgingProgress
from deemster.domain.verdict import Verdict
from deemster.store import leases, problems, workers
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool, connection
from deemster.web.formats import BY_SLUG
from deemster.web.pages.submissions import shown_cases
from deemster.web.rendering import environment
from tests.api.browser import PASSWORD, make_person
from tests.api.conftest import make_worker
from tests.api.judgements import HIDDEN, JUDGEMENTS, judged_submission
from tests.api.routes.test_evaluations import evaluated
from tests.builders import make_problem, make_submission, start_submission
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


@pytest.mark.parametrize("key", ["\0", "k" * 256])
async def test_i1_a_form_with_a_key_that_can_not_be_stored_is_refused(
    visit: Visit, pool: Pool, key: str
) -> None:
    await publish(pool)
    await make_person(pool)
    async with visit("ada") as browser:
        token = field(await browser.get("/problems/prob_sum"), "csrf_token")
        answer = {"csrf_token": token, "key": key, "language": "python3", "source": "x"}
        refused = await browser.post("/problems/prob_sum", data=answer)
    assert refused.status_code == 422, refused.text


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
        is_run = verdict is not Verdict.COMPILE_ERROR
        assert (" ms<" in shown.text) is is_run, "what did not run has no figures"


async def test_w1_the_page_of_a_submission_names_its_problem_and_the_next_step(
    visit: Visit, pool: Pool, artifacts: Artifacts
) -> None:
    owner = await make_person(pool)
    wrong = await judged_submission(pool, artifacts, owner, JUDGEMENTS[Verdict.WRONG_ANSWER])
    right = await judged_submission(pool, artifacts, owner, JUDGEMENTS[Verdict.ACCEPTED])
    async with visit("ada") as browser:
        shown = await browser.get(f"/submissions/{wrong}")
        assert "<h1>Sum</h1>" in shown.text
        assert '<a class="main" href="/problems/prob_sum">' in shown.text
        solved = await browser.get(f"/submissions/{right}")
        assert 'class="main"' not in solved.text, "there is no other problem"
        for slug in ("power", "tower"):
            await make_problem(pool, slug)
        solved = await browser.get(f"/submissions/{right}")
        assert '<a class="main" href="/problems/prob_tower">Next problem: Tower' in solved.text
        assert ">Sum</a>" in (await browser.get("/submissions")).text


async def test_w4_numbers_are_written_as_in_the_language_of_the_page(
    visit: Visit, pool: Pool, artifacts: Artifacts
) -> None:
    owner = await make_person(pool)
    judgement = replace(JUDGEMENTS[Verdict.PARTIAL], score=1234.5, max_score=2000.0)
    submission = await judged_submission(pool, artifacts, owner, judgement)
    async with visit("ada") as browser:
        for code, score, memory in (
            ("en", "1,234.5 / 2,000", "0.9 MB"),
            ("de", "1.234,5 / 2.000", "0,9 MB"),
        ):
            browser.headers["Accept-Language"] = code
            shown = (await browser.get(f"/submissions/{submission}")).text
            assert score in shown
            assert memory in shown


async def test_w1_a_page_shows_how_programs_read_and_write(visit: Visit, pool: Pool) -> None:
    await publish(pool)
    await make_person(pool)
    async with visit("ada") as browser:
        asked = await browser.get("/problems/prob_sum")
        assert "read standard input and write standard output" in asked.text
        link = re.search(r'href="(/languages)#([^"]+)"', asked.text)
        assert link
        assert f'<section id="{link[2]}"' in (await browser.get(link[1])).text


def test_w1_each_verdict_is_explained() -> None:
    texts = vars(environment("en").get_template("verdict_texts.html").module)["explanation"]
    assert all(len(texts(verdict)) > 60 for verdict in Verdict)


async def test_w1_all_verdicts_are_explained_on_one_page(visitor: httpx.AsyncClient) -> None:
    shown = await visitor.get("/verdicts")
    assert re.findall('<section id="([^"]+)"', shown.text) == list(BY_SLUG)


async def test_j10_cases_have_their_verdicts_while_others_are_judged(
    visit: Visit, pool: Pool
) -> None:
    owner = await make_person(pool)
    submission = await make_submission(pool, owner)
    worker = WorkerId("wrk_x")
    running = await start_submission(pool, submission, worker)
    judged = (CaseSoFar(1, Verdict.ACCEPTED, 12, 3400), CaseSoFar(3, Verdict.PARTIAL, 5, 1))
    async with connection(pool) as acquired:
        shown = {(submission, running.attempt): JudgingProgress(2, 4, judged)}
        await leases.renew(acquired, worker, shown)
    async with visit("ada") as browser:
        text = (await browser.get(f"/submissions/{submission}")).text
    cells = re.findall(r'<li class="case ([a-z]*)"', text)
    assert cells == ["good", "", "part", ""]
    assert "12 ms" in text


def test_w1_cases_of_a_verdict_that_came_after_the_state_was_read_are_not_shown() -> None:
    """The page would have cases that were skipped, and no verdict that says why."""
    judged = [
        ContestantCase(1, Verdict.WRONG_ANSWER, False, 1, 1),
        ContestantCase(2, None, False, 0, 0),
    ]
    found = SubmissionOut(
        id="sub_x",
        status=Status.QUEUED,
        verdict=None,
        problem_id="prob_x",
        language="c",
        submitted_at=datetime(2026, 1, 1, tzinfo=UTC),
        user_id="usr_x",
        user="ada",
    )
    assert shown_cases(found, judged) == ()
    ended = found.model_copy(update={"verdict": Verdict.WRONG_ANSWER})
    assert shown_cases(ended, judged) == judged


async def test_a4_a_waiting_submission_shows_its_place_and_the_estimated_wait(
    visit: Visit, pool: Pool
) -> None:
    owner = await make_person(pool)
    worker = await make_worker(pool, slots=2)
    async with connection(pool) as acquired:
        await workers.heartbeat(acquired, worker, busy=0, cycle_s=3.0)
    waiting = [await make_submission(pool, owner) for _ in range(2)]
    async with visit("ada") as browser:
        shown = [(await browser.get(f"/submissions/{each}")).text for each in waiting]
    assert "Place in the queue: 1 · about 0 ms" in shown[0]
    assert "Place in the queue: 2 · about 1.5 s" in shown[1]


async def test_w1_feedback_of_an_evaluation_is_on_the_page_of_the_submission(
    visit: Visit, pool: Pool
) -> None:
    owner = await make_person(pool)
    submission = await evaluated(pool, owner)
    async with visit("ada") as browser:
        shown = (await browser.get(f"/submissions/{submission}")).text
    feedback = shown.partition('<section class="feedback"')[2].partition("</section>")[0]
    assert "80 <span" in feedback
    assert "<li>Keep it.</li>" in feedback
    assert 'href="#L3"' in feedback
    assert "A language model answered these questions. It can be wrong." in feedback


async def test_w1_a_file_is_submitted_without_scripts(visit: Visit, pool: Pool) -> None:
    await publish(pool)
    await make_person(pool)
    async with visit("ada") as browser:
        shown = await browser.get("/problems/prob_sum")
        answer = {
            "csrf_token": field(shown, "csrf_token"),
            "key": "file",
            "language": "python3",
        }
        path = "/problems/prob_sum/file"
        wrong = await browser.post(path, data=answer, files={"file": ("a.py", b"\xff")})
        assert (wrong.status_code, "UTF-8" in wrong.text) == (422, True)
        sent = await browser.post(path, data=answer, files={"file": ("a.py", b"print(5)\n")})
        assert sent.status_code == 303, sent.text
        assert "print(5)" in (await browser.get(sent.headers["location"])).text


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
