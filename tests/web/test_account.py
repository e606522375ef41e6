"""People change their password, their tokens and how pages look (O6, W4)."""

import re

from deemster.api.app import create_app
from deemster.domain.account import Role
from deemster.store import accounts
from deemster.store.pool import Pool, connection
from deemster.web.routes import ROUTES
from tests.api.browser import PASSWORD, audit_entries, make_person
from tests.api.conftest import MakeDependencies, running
from tests.web.conftest import Visit
from tests.web.test_solving import field

NEW = "another plain password"


async def test_o6_a_new_password_needs_the_old_one_and_ends_other_log_ins(
    visit: Visit, pool: Pool
) -> None:
    await make_person(pool)
    async with visit("ada") as browser, visit("ada") as other:
        token = field(await browser.get("/account"), "csrf_token")
        form = {"csrf_token": token, "current_password": "wrong", "password": NEW}
        refused = await browser.post("/account/password", data=form)
        assert refused.status_code == 422
        assert "not your password" in refused.text
        form["current_password"] = PASSWORD
        done = await browser.post("/account/password", data=form)
        assert done.headers["location"] == "/account?done=password"
        assert (await browser.get("/account?done=password")).status_code == 200
        assert (await other.get("/account")).headers["location"].startswith("/login")


async def test_o6_one_click_ends_all_other_log_ins(visit: Visit, pool: Pool) -> None:
    await make_person(pool)
    async with visit("ada") as browser, visit("ada") as other:
        form = {"csrf_token": field(await browser.get("/account"), "csrf_token")}
        await browser.post("/account/log-out-others", data=form)
        assert (await browser.get("/account")).status_code == 200
        assert (await other.get("/account")).status_code == 303
    assert (await audit_entries(pool))[-1][1] == "user.log_out_others"


async def test_o6_a_token_is_shown_once_and_can_be_revoked(visit: Visit, pool: Pool) -> None:
    await make_person(pool)
    async with visit("ada") as browser:
        form = {"csrf_token": field(await browser.get("/account/tokens"), "csrf_token")}
        wrong = await browser.post("/account/tokens", data={**form, "name": ""})
        assert wrong.status_code == 422
        asked = {**form, "name": "<laptop>", "scope_read": "on", "expires_in_days": "3"}
        created = await browser.post("/account/tokens", data=asked)
        assert "&lt;laptop&gt;" in created.text
        secret = re.search(r"<pre[^>]*>(deem_[^<]+)</pre>", created.text)
        assert secret
        async with connection(pool) as acquired:
            owner = await accounts.find_by_token(acquired, secret[1])
        assert owner is not None
        assert owner.scopes == {"read"}
        listed = await browser.get("/account/tokens")
        assert secret[1] not in listed.text
        revoke = re.search(r'action="(/account/tokens/[^"]+/revoke)"', listed.text)
        assert revoke
        await browser.post(revoke[1], data=form)
        assert "revoked" in (await browser.get("/account/tokens")).text
        async with connection(pool) as acquired:
            assert await accounts.find_by_token(acquired, secret[1]) is None


async def test_a11_nobody_revokes_the_token_of_another(visit: Visit, pool: Pool) -> None:
    owner = await make_person(pool, "owner")
    await make_person(pool, "other", Role.ADMIN)
    async with connection(pool) as acquired:
        made = await accounts.create_token(acquired, owner, "laptop")
    async with visit("other") as browser:
        form = {"csrf_token": field(await browser.get("/account/tokens"), "csrf_token")}
        answer = await browser.post(f"/account/tokens/{made.view.id}/revoke", data=form)
        assert answer.status_code == 404
    async with connection(pool) as acquired:
        assert await accounts.find_by_token(acquired, made.secret) is not None


async def test_w4_the_settings_decide_for_visitors_who_chose_nothing(
    make_dependencies: MakeDependencies, pool: Pool
) -> None:
    account = await make_person(pool)
    async with connection(pool) as acquired:
        await accounts.create_token(acquired, account, "laptop")
        await acquired.execute("UPDATE token SET created_at = '2026-01-02T23:30:00+00:00'")
    settings = make_dependencies(page_language="de", page_time_zone="Europe/Berlin")
    async with running(create_app(settings, ROUTES)) as browser:
        await browser.post("/login", data={"name": "ada", "password": PASSWORD})
        assert "03.01.2026, 00:30:00" in (await browser.get("/account/tokens")).text
        browser.headers["Accept-Language"] = "en-GB"
        browser.cookies.set("deemster_time_zone", "UTC")
        assert "Jan 2, 2026" in (await browser.get("/account/tokens")).text


async def test_w4_dates_are_in_the_chosen_time_zone_and_texts_in_the_chosen_language(
    visit: Visit, pool: Pool
) -> None:
    account = await make_person(pool)
    async with connection(pool) as acquired:
        await accounts.create_token(acquired, account, "laptop")
        when = "2026-01-02T23:30:00+00:00"
        await acquired.execute(f"UPDATE token SET created_at = '{when}'")
    async with visit("ada") as browser:
        page = await browser.get("/account/tokens")
        assert "Jan 2, 2026" in page.text
        form = {"csrf_token": field(page, "csrf_token"), "language": "de"}
        await browser.post("/account/display", data={**form, "time_zone": "Europe/Berlin"})
        shown = await browser.get("/account/tokens")
        assert "03.01.2026, 00:30:00" in shown.text
        await browser.post("/account/display", data={**form, "time_zone": "Mars/Olympus"})
        assert "03.01.2026" in (await browser.get("/account/tokens")).text
