"""A11, O6: every page with every role shows exactly what the permissions table allows."""

import re

import httpx
import pytest

from deemster.api.permissions import PAGE_PERMISSIONS, Permission
from deemster.domain.account import Role
from deemster.domain.ids import AccountId, SubmissionId
from deemster.domain.source import pack_files
from deemster.domain.verdict import Verdict
from deemster.pipeline.verdict.attempt import settle
from deemster.store import log_in_links, webhooks
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool, connection
from deemster.web.static_files import url_of
from tests.api.browser import make_person
from tests.api.judgements import HIDDEN, JUDGEMENTS
from tests.api.routes.test_dead_letters import make_dead_letter
from tests.api.test_permissions import filled
from tests.builders import make_submission, queue_submission, start_submission
from tests.web.conftest import Visit
from tests.web.test_solving import field, publish

UPLOADS = {"/admin/problems", "/admin/user-import", "/problems/{id}/file"}
ENDS_THE_LOG_IN = {"/logout"}
ENGLISH = re.compile(r'<p[^>]* lang="en"')
"""An error that has no translation."""
WITHOUT_FILES = {"/admin/problems/{id}/package", "/admin/problems/{id}/verification"}
"""The problem of the test has no package."""


async def ask(browser: httpx.AsyncClient, method: str, path: str, token: str) -> httpx.Response:
    if method == "GET":
        return await browser.get(path)
    return await browser.post(path, data={"csrf_token": token})


@pytest.mark.parametrize("role", list(Role))
async def test_o6_each_role_opens_the_pages_of_the_table(
    visit: Visit, pool: Pool, role: Role
) -> None:
    await make_person(pool, "last", Role.ADMIN)
    await make_person(pool, "who", role)
    async with visit("who") as browser:
        browser.headers["Accept-Language"] = "de"
        token = field(await browser.get("/account"), "csrf_token")
        for (method, path), need in PAGE_PERMISSIONS.items():
            if path in ENDS_THE_LOG_IN:
                continue
            answer = await ask(browser, method, filled(path), token)
            is_allowed = not isinstance(need, Permission) or role.includes(need.role)
            assert (answer.status_code == 403) != is_allowed, (method, path, answer.text)
            assert answer.status_code < 500, (method, path, answer.text)
            assert not ENGLISH.search(answer.text), (method, path, "W4", answer.text)


async def test_o6_every_form_of_a_log_in_needs_its_token(visit: Visit, pool: Pool) -> None:
    await make_person(pool, "root", Role.ADMIN)
    async with visit("root") as browser:
        for (method, path), need in PAGE_PERMISSIONS.items():
            if method != "POST" or need is None:
                continue
            files = {"file": b"x"} if path in UPLOADS else None
            answer = await browser.post(filled(path), data={"csrf_token": "x"}, files=files)
            assert answer.status_code == 403, (path, answer.text)


async def test_without_a_log_in_pages_lead_to_it(visitor: httpx.AsyncClient) -> None:
    for (method, path), need in PAGE_PERMISSIONS.items():
        if isinstance(need, Permission):
            answer = await ask(visitor, method, filled(path), "")
            assert answer.headers["location"].startswith("/login"), (method, path)


async def test_a11_only_the_owner_and_admins_see_a_source_and_only_the_jury_hidden_data(
    visit: Visit, pool: Pool, artifacts: Artifacts
) -> None:
    """On every page that is registered, each opened with ids that exist."""
    await publish(pool, "other")
    people = {role: await make_person(pool, role, role) for role in Role}
    owner = await make_person(pool, "owner")
    source = "print('a source of one person')"
    packed = pack_files({"main.py": source.encode()})
    hook = "https://example.org/hook"
    submission = await make_submission(pool, owner, source=packed, webhook_url=hook)
    await queue_submission(pool, submission)
    started = await start_submission(pool, submission)
    await settle(pool, artifacts, started, JUDGEMENTS[Verdict.WRONG_ANSWER])
    given = await ids_of_pages(visit, pool, owner, submission)
    with_ids = {path for method, path in PAGE_PERMISSIONS if method == "GET" and "{" in path}
    assert set(given) == with_ids, "a new page needs an id that exists"
    shown = source.replace("'", "&#39;")
    for name in ("owner", *people):
        sees_source, sees_hidden = set(), set()
        async with visit(name) as browser:
            for method, path in PAGE_PERMISSIONS:
                if method == "GET":
                    address = re.sub(r"\{.*\}", given.get(path, ""), path)
                    answer = await browser.get(address)
                    is_missing = name == Role.ADMIN and answer.status_code == 404
                    assert not is_missing or path in WITHOUT_FILES, path
                    sees_source |= {path} if shown in answer.text else set()
                    sees_hidden |= {path} if HIDDEN in answer.text else set()
        own = {"/submissions/{id}"}
        jury = {"/admin/submissions/{id}"}
        assert sees_source == {"owner": own, Role.ADMIN: own | jury}.get(name, set()), name
        assert sees_hidden == (jury if name == Role.ADMIN else set()), name


async def ids_of_pages(
    visit: Visit, pool: Pool, owner: AccountId, submission: SubmissionId
) -> dict[str, str]:
    """Something that exists for each page of one thing; all belong to one submission."""
    number, _ = await make_dead_letter(pool)
    async with connection(pool) as acquired:
        problem = await acquired.fetchval(
            "SELECT problem_id FROM submission WHERE id = $1", submission
        )
        [delivery] = await webhooks.page(acquired, webhooks.DeliveryFilter())
        [code] = await log_in_links.add_all(acquired, [owner], days=1)
    async with visit(Role.ADMIN) as browser:
        token = field(await browser.get("/admin/rejudgings"), "csrf_token")
        wanted = {"csrf_token": token, "user": "owner"}
        rejudging = (await browser.post("/admin/rejudgings", data=wanted)).headers["location"]
    return {
        "/static/{name}": url_of("deemster.css").rpartition("/")[2],
        "/log-in/{code}": code,
        "/problems/{id}": problem,
        "/submissions/{id}": submission,
        "/verdicts/{slug}": "accepted",
        "/admin/dead-letters/{number}": str(number),
        "/admin/problems/{id}/package": problem,
        "/admin/problems/{id}/verification": problem,
        "/admin/queues/{name}": "default",
        "/admin/rejudgings/{id}": rejudging.rpartition("/")[2],
        "/admin/submissions/{id}": submission,
        "/admin/users/{id}": owner,
        "/admin/webhooks/{id}": delivery.id,
    }
