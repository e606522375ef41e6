"""W3: admins and authors run the judge with pages, without JavaScript."""

import csv
import re
from pathlib import Path

import httpx
import pytest

from deemster.domain.account import Role
from deemster.domain.verdict import Verdict
from deemster.pipeline.verdict.attempt import settle
from deemster.problems.new_package import make_package
from deemster.store import webhooks
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool, connection
from deemster.web.pages.admin.problems import archive_name
from tests.api.browser import make_person
from tests.api.judgements import HIDDEN, JUDGEMENTS, judged_submission
from tests.api.routes.test_dead_letters import make_dead_letter
from tests.api.routes.test_problem_import import zipped
from tests.api.routes.test_rejudgings import trial_of
from tests.builders import make_submission, queue_submission, start_submission
from tests.web.conftest import Visit
from tests.web.test_solving import field


async def form_of(browser: httpx.AsyncClient, path: str) -> dict[str, str]:
    return {"csrf_token": field(await browser.get(path), "csrf_token")}


async def test_q7_an_admin_requeues_a_dead_letter(visit: Visit, pool: Pool) -> None:
    """O8: the page gives the reason."""
    await make_person(pool, "root", Role.ADMIN)
    first, submission = await make_dead_letter(pool)
    async with visit("root") as browser:
        assert "Submissions that could not be judged: 1" in (await browser.get("/admin")).text
        listed = await browser.get("/admin/dead-letters")
        assert "the sandbox broke" in listed.text
        page = f"/admin/dead-letters/{first}"
        form = await form_of(browser, page)
        assert f'href="/admin/submissions/{submission}"' in (await browser.get(page)).text
        done = await browser.post(f"{page}/requeue", data=form)
        assert done.headers["location"] == f"{page}?done=requeued"
        assert "It is in the queue again." in (await browser.get(f"{page}?done=requeued")).text
        again = await browser.post(f"{page}/discard", data=form)
        assert again.status_code == 409, "it is settled"
        assert (
            "There are no open dead letters." in (await browser.get("/admin/dead-letters")).text
        )
        assert page in (await browser.get("/admin/dead-letters?state=all")).text
        assert (await browser.get("/admin/dead-letters/x")).status_code == 404


async def test_w3_submissions_are_searched_and_the_jury_sees_every_case(
    visit: Visit, pool: Pool, artifacts: Artifacts
) -> None:
    await make_person(pool, "root", Role.ADMIN)
    ada = await make_person(pool)
    submission = await judged_submission(pool, artifacts, ada, JUDGEMENTS[Verdict.WRONG_ANSWER])
    link = f'href="/admin/submissions/{submission}"'
    async with visit("root") as browser:
        for query, is_found in {
            "": True,
            "?user=ada&problem=&verdict=Wrong+Answer": True,
            "?verdict=Accepted": False,
            "?language=python3&status=finished": True,
        }.items():
            shown = await browser.get(f"/admin/submissions{query}")
            assert (shown.status_code, link in shown.text) == (200, is_found), query
        for query in ("?user=nobody", "?verdict=x", "?cursor=x"):
            refused = await browser.get(f"/admin/submissions{query}")
            assert refused.status_code in {404, 422}
            assert 'role="alert"' in refused.text
        page = f"/admin/submissions/{submission}"
        shown = await browser.get(page)
        assert HIDDEN in shown.text
        new = await browser.post(f"{page}/rejudge", data=await form_of(browser, page))
        assert (await browser.get(new.headers["location"])).status_code == 200
        assert submission not in new.headers["location"]


async def test_w3_a_rejudging_is_compared_before_it_is_applied(
    visit: Visit, pool: Pool, artifacts: Artifacts
) -> None:
    await make_person(pool, "root", Role.ADMIN)
    ada = await make_person(pool)
    old = await judged_submission(pool, artifacts, ada, JUDGEMENTS[Verdict.WRONG_ANSWER])
    async with visit("root") as browser:
        form = await form_of(browser, "/admin/rejudgings")
        nothing = await browser.post("/admin/rejudgings", data={**form, "reason": "why"})
        assert nothing.status_code == 422
        assert 'value="why"' in nothing.text, "what was typed is kept"
        wanted = {**form, "problem": "prob_sum", "verdict": "Wrong Answer"}
        page = (await browser.post("/admin/rejudgings", data=wanted)).headers["location"]
        assert 'http-equiv="refresh"' in (await browser.get(page)).text
        early = await browser.post(f"{page}/apply", data=form)
        assert early.status_code == 409
        trial = await trial_of(pool, old)
        await queue_submission(pool, trial)
        started = await start_submission(pool, trial)
        await settle(pool, artifacts, started, JUDGEMENTS[Verdict.ACCEPTED])
        shown = await browser.get(page)
        assert "1 verdicts and" in shown.text
        assert f'action="{page}/apply"' in shown.text
        await browser.post(f"{page}/apply", data=form)
        assert "applied" in (await browser.get(page)).text
        assert page in (await browser.get("/admin/rejudgings")).text


async def test_w3_an_author_imports_publishes_downloads_and_retires_a_problem(
    visit: Visit, pool: Pool, tmp_path: Path
) -> None:
    await make_person(pool, "eve", Role.AUTHOR)
    await make_person(pool, "mallory", Role.AUTHOR)
    (tmp_path / "packages").mkdir()
    content = zipped(make_package(tmp_path / "packages", "mine"), within=None)
    async with visit("eve") as browser:
        form = await form_of(browser, "/admin/problems")
        for file in (b"", b"not an archive"):
            refused = await browser.post(
                "/admin/problems", data=form, files={"package": ("x.zip", file)}
            )
            assert refused.status_code == 422, refused.text
            assert 'role="alert"' in refused.text
        imported = await browser.post(
            "/admin/problems",
            data={**form, "draft": "on"},
            files={"package": ("Mine 2.tar.gz.zip", content)},
        )
        assert imported.status_code == 200, imported.text
        problem = re.search(r'href="/problems/(prob_[^"]+)"', imported.text)
        assert problem
        drafts = await browser.get("/admin/problems?drafts=true")
        assert problem[1] in drafts.text
        page = f"/admin/problems/{problem[1]}"
        async with visit("mallory") as other:
            theirs = await form_of(other, "/admin/problems")
            assert (await other.post(f"{page}/publish", data=theirs)).status_code == 404
            assert problem[1] not in (await other.get("/admin/problems?drafts=true")).text
        await browser.post(f"{page}/publish", data=form)
        assert problem[1] in (await browser.get("/admin/problems?done=published")).text
        package = await browser.get(f"{page}/package")
        assert package.headers["content-type"] == "application/x-tar"
        await browser.post(f"{page}/retire", data=form)
        assert problem[1] not in (await browser.get("/admin/problems")).text


@pytest.mark.parametrize(
    ("filename", "name"),
    [
        ("hello.zip", "hello"),
        ("C:\\Users\\x\\Two Words.tar.gz", "two-words"),
        ("../../etc/passwd", "passwd"),
        ("..", "package"),
        ("", "package"),
    ],
)
def test_j8_the_name_of_an_upload_is_no_path(filename: str, name: str) -> None:
    assert archive_name(filename) == name


async def test_o6_an_admin_manages_an_account(visit: Visit, pool: Pool) -> None:
    await make_person(pool, "root", Role.ADMIN)
    async with visit("root") as browser:
        form = await form_of(browser, "/admin/users")
        wrong = await browser.post("/admin/users", data={**form, "name": "no spaces!"})
        assert wrong.status_code == 422
        assert 'value="no spaces!"' in wrong.text
        created = await browser.post("/admin/users", data={**form, "name": "ada"})
        page = created.headers["location"].partition("?")[0]
        assert page in (await browser.get("/admin/users?name=ad&role=user")).text
        changes = {**form, "role": "author", "daily_quota": "7", "tier": "on"}
        await browser.post(page, data=changes)
        shown = (await browser.get(page)).text
        assert 'value="7"' in shown
        assert "author" in shown
        await browser.post(page, data={**form, "role": "author", "daily_quota": ""})
        assert 'value="7"' not in (await browser.get(page)).text
        link = re.search(
            r"http://judge(/log-in/[^<]+)<",
            (await browser.post(f"{page}/link", data=form)).text,
        )
        assert link
        assert "ada" in (await browser.get(link[1])).text
        token = await browser.post(f"{page}/tokens", data={**form, "name": "x"})
        assert "deem_" in token.text
        revoke = re.search(rf'action="({page}/tokens/[^"]+/revoke)"', token.text)
        assert revoke
        assert (await browser.post(revoke[1], data=form)).status_code == 303
        await browser.post(f"{page}/disabled", data={**form, "disabled": "true"})
        assert "Enable" in (await browser.get(page)).text
        refused = await browser.post(f"{page}/link", data=form)
        assert refused.status_code == 409
        last = re.search(
            r'href="(/admin/users/usr_[^"]+)">root<',
            (await browser.get("/admin/users?role=admin")).text,
        )
        assert last
        kept = await browser.post(f"{last[1]}/disabled", data={**form, "disabled": "true"})
        assert kept.status_code == 409, "somebody must be able to administrate"


async def test_k4_a_list_becomes_accounts_with_log_ins(visit: Visit, pool: Pool) -> None:
    await make_person(pool, "root", Role.ADMIN)
    content = b"name,Full name\nada,Ada Lovelace\ngrace,<b>Grace</b>\n"
    async with visit("root") as browser:
        form = await form_of(browser, "/admin/user-import")
        bad = await browser.post(
            "/admin/user-import", data=form, files={"list": ("a.csv", b"x\ny\n")}
        )
        assert bad.status_code == 422
        done = await browser.post(
            "/admin/user-import",
            data={**form, "credentials": "link", "output": "csv"},
            files={"list": ("a.csv", content)},
        )
        rows = list(csv.DictReader(done.text.splitlines()))
        assert [row["name"] for row in rows] == ["ada", "grace"]
        assert rows[0]["link"].startswith("http://judge/log-in/")
        sheet = await browser.post(
            "/admin/user-import",
            data={**form, "credentials": "password", "output": "sheet", "renew": "on"},
            files={"list": ("a.csv", content)},
        )
        assert sheet.headers["content-type"].startswith("text/html")
        assert "&lt;b&gt;Grace" in sheet.text


async def test_h2_webhooks_show_their_attempts_and_are_sent_again(
    visit: Visit, pool: Pool, artifacts: Artifacts
) -> None:
    await make_person(pool, "root", Role.ADMIN)
    ada = await make_person(pool)
    url = "https://example.org/hook"
    submission = await make_submission(pool, ada, webhook_url=url)
    await queue_submission(pool, submission)
    started = await start_submission(pool, submission)
    await settle(pool, artifacts, started, JUDGEMENTS[Verdict.ACCEPTED])
    async with connection(pool) as acquired:
        [delivery] = await webhooks.page(acquired, webhooks.DeliveryFilter())
        await acquired.execute(
            "UPDATE webhook_delivery SET state = 'failed', ended_at = now(), tries = 4"
        )
    async with visit("root") as browser:
        listed = await browser.get("/admin/webhooks?state=failed&user=ada")
        page = f"/admin/webhooks/{delivery.id}"
        assert page in listed.text
        assert url in (await browser.get(page)).text
        sent = await browser.post(f"{page}/resend", data=await form_of(browser, page))
        assert sent.status_code == 303, sent.text
        assert delivery.id in (await browser.get(sent.headers["location"])).text
        missing = await browser.get("/admin/webhooks?user=nobody")
        assert missing.status_code == 404
        assert 'role="alert"' in missing.text


async def test_w3_the_audit_log_is_searched_and_secrets_of_settings_are_hidden(
    visit: Visit, pool: Pool
) -> None:
    await make_person(pool, "root", Role.ADMIN)
    async with visit("root") as browser:
        form = await form_of(browser, "/admin/users")
        for number in range(60):
            await browser.post("/admin/users", data={**form, "name": f"user{number}"})
        found = await browser.get("/admin/audit?actor=root&act=user.add&target=")
        assert "user59" in found.text
        more = re.search(r'rel="next" href="([^"]+)"', found.text)
        assert more
        assert "act=user.add" in more[1]
        rest = await browser.get("/admin/audit" + more[1].replace("&amp;", "&"))
        assert "user0" in rest.text
        assert "No entry matches." in (await browser.get("/admin/audit?actor=x")).text
        shown = await browser.get("/admin/settings")
        assert "DEEMSTER_SECRET_KEY" in shown.text
