"""The first visit by a one-time link: log in, set a password, see what to do next (W3, K4)."""

import httpx
import pytest
from fastapi import FastAPI

from deemster.domain.account import Role
from deemster.store import accounts, log_in_links
from deemster.store.pool import Pool, connection
from tests.api.browser import PASSWORD
from tests.api.conftest import running
from tests.web.test_solving import field, publish


async def link_for(pool: Pool, name: str, role: Role) -> str:
    async with connection(pool) as acquired:
        account = await accounts.add(acquired, name, role)
        [code] = await log_in_links.add_all(acquired, [account.id], days=1)
    return f"/log-in/{code}"


@pytest.mark.parametrize("role", [Role.ADMIN, Role.USER])
async def test_w3_a_link_leads_to_the_welcome_page_and_a_password(
    visitor: httpx.AsyncClient, pool: Pool, app: FastAPI, role: Role
) -> None:
    await publish(pool)
    link = await link_for(pool, "ada", role)
    for _ in range(2):  # a mail program that looks at the link does not use it up
        shown = await visitor.get(link)
        assert (shown.status_code, "ada" in shown.text) == (200, True)
    forged = await visitor.post(
        link, data={"csrf_token": ""}, headers={"Origin": "https://elsewhere.example"}
    )
    assert forged.status_code == 403
    answer = await visitor.post(
        link, data={"csrf_token": ""}, headers={"Origin": "http://judge"}
    )
    assert (answer.status_code, answer.headers["location"]) == (303, "/welcome")
    used = await visitor.get(link)
    assert used.status_code == 404
    assert "used before, or has expired" in used.text

    welcome = await visitor.get("/welcome")
    assert 'href="/problems/prob_sum"' in welcome.text
    assert ("Add problems of your own" in welcome.text) == (role is Role.ADMIN)
    form = {"csrf_token": field(welcome, "csrf_token"), "password": "short"}
    refused = await visitor.post("/welcome", data=form)
    assert refused.status_code == 422
    assert 'role="alert"' in refused.text
    done = await visitor.post("/welcome", data={**form, "password": PASSWORD})
    assert done.headers["location"] == "/welcome"
    assert 'name="password"' not in (await visitor.get("/welcome")).text
    again = await visitor.post("/welcome", data={**form, "password": "another password"})
    assert again.headers["location"] == "/account", "the current password is asked for there"
    async with running(app) as browser:
        logged_in = await browser.post("/login", data={"name": "ada", "password": PASSWORD})
        assert logged_in.status_code == 303
