"""All pages are opened by all roles, with scripts in a real browser; sources stay with their
owners (A11).
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from playwright.async_api import Browser, BrowserContext, Page

from deemster.api.permissions import PAGE_PERMISSIONS, Permission
from deemster.domain.account import Role
from tests.api.browser import PASSWORD
from tests.cli.up.service import Up
from tests.waiting import until
from tests.web.live.conftest import Api, Enter, new_page

FILES = {"/static/{name}", "/admin/problems/{id}/package"}
"""Browsers store these instead of showing them."""
PATHS = sorted({path for method, path in PAGE_PERMISSIONS if method == "GET"} - FILES)
SECRET = "only_the_owner_wrote_this"
SOURCE = f"{SECRET} = 1\nprint({SECRET})"
OWN = {"/problems/{id}", "/submissions/{id}", "/submissions/compare"}
"""With the editor, which has what its owner wrote last."""
JURY = {"/submissions/{id}", "/submissions/compare", "/admin/submissions/{id}"}


@dataclass(frozen=True, slots=True)
class Opened:
    status: int
    url: str
    content: str


Open = Callable[[str], Awaitable[Opened]]


def with_scripts(page: Page) -> Open:
    """Shows the page, and what its scripts make of it."""

    async def opened(address: str) -> Opened:
        answer = await page.goto(address)
        assert answer is not None
        return Opened(answer.status, page.url, await page.content())

    return opened


def without_scripts(context: BrowserContext) -> Open:
    """Gets the page with the cookies of the browser; without scripts, that is all one sees."""

    async def opened(address: str) -> Opened:
        answer = await context.request.get(address)
        return Opened(answer.status, answer.url, await answer.text())

    return opened


async def test_a11_in_a_walk_of_all_pages_nobody_sees_the_source_of_another(
    enter: Enter, api: Api, chromium: Browser, judge: Up
) -> None:
    """O6: each page opens for exactly the roles of the permissions table."""
    owner = await enter("emmy", "/problems/prob_aplusb")
    addresses = await addresses_of(owner, api, judge)
    assert set(addresses) == set(PATHS), "a new page needs an address"
    # Scripts ask the API as the person who is logged in, so those of one role are enough.
    other = await enter("walking-user")
    seen: dict[str, set[str]] = {}
    for who, page in (("owner", owner), (Role.USER, other)):
        seen[who] = await walk(with_scripts(page), addresses, Role.USER)
    for role in set(Role) - {Role.USER}:
        name = f"walking-{role}"
        await api.ask(
            "POST", "/v1/admin/users", {"name": name, "role": role, "password": PASSWORD}
        )
        page = await new_page(chromium, judge.url, java_script_enabled=False)
        await log_in_on_page(page, name)
        seen[role] = await walk(without_scripts(page.context), addresses, role)
        await page.context.close()
    expected: dict[str, set[str]] = {role: set() for role in Role}
    assert seen == expected | {"owner": OWN, Role.ADMIN: JURY}

    context = await chromium.new_context(base_url=judge.url)
    opened = without_scripts(context)
    for path, address in addresses.items():
        found = await opened(address)
        needs_log_in = isinstance(PAGE_PERMISSIONS["GET", path], Permission)
        assert ("/login" in found.url) == needs_log_in or path == "/login", path
        assert SECRET not in found.content, path
    await context.close()


async def log_in_on_page(page: Page, name: str) -> None:
    await page.goto("/login")
    await page.fill("[name=name]", name)
    await page.fill("[name=password]", PASSWORD)
    await page.click("main button")
    await page.wait_for_url("**/problems")


async def walk(opened: Open, addresses: dict[str, str], role: Role) -> set[str]:
    """Returns the pages with the secret word of the owner's programs."""
    found = set()
    for path, address in addresses.items():
        page = await opened(address)
        need = PAGE_PERMISSIONS["GET", path]
        is_allowed = not isinstance(need, Permission) or role.includes(need.role)
        assert (page.status == 403) != is_allowed, (role, path, page.status)
        assert page.status < 500, (role, path)
        if SECRET in page.content:
            found.add(path)
    return found


async def addresses_of(owner: Page, api: Api, judge: Up) -> dict[str, str]:
    """An address that exists for each page; those of one thing belong to the owner."""
    token = await owner.get_attribute("body", "data-csrf")
    headers = {"X-CSRF-Token": token or ""}
    body = {"problem_id": "prob_aplusb", "language": "python3", "source_code": SOURCE}
    hook = {"webhook_url": f"{judge.url}/healthz"}
    made = []
    for more in ("", "\n# again"):
        data = {**body, **hook, "source_code": SOURCE + more}
        sent = await owner.request.post("/v1/submissions", data=data, headers=headers)
        assert sent.ok, await sent.text()
        made.append((await sent.json())["id"])
    session = {"problem_id": "prob_aplusb", "language": "python3", "template_code": SOURCE}
    saved = await owner.request.post("/v1/code-sessions", data=session, headers=headers)
    assert saved.ok, await saved.text()
    for each in made:
        await api.ask("GET", f"/v1/submissions/{each}?wait=30")
    account = (await api.ask("GET", f"/v1/submissions/{made[0]}"))["user_id"]

    async def delivery() -> Any:
        found = await api.ask("GET", f"/v1/submissions/{made[0]}/webhooks")
        return found["items"][0]["id"] if found["items"] else None

    rejudging = await api.ask("POST", "/v1/admin/rejudgings", {"user": "emmy"})
    link = re.search(r"/log-in/\S+", judge.command("user", "link", "emmy").stdout)
    assert link
    filled = {
        "/log-in/{code}": link[0],
        "/problems/{id}": "/problems/prob_aplusb",
        "/submissions/{id}": f"/submissions/{made[0]}",
        "/submissions/compare": f"/submissions/compare?old={made[0]}&new={made[1]}",
        "/verdicts/{slug}": "/verdicts/accepted",
        "/admin/dead-letters/{number}": "/admin/dead-letters/1",
        "/admin/problems/{id}/verification": "/admin/problems/prob_aplusb/verification",
        "/admin/queues/{name}": "/admin/queues/default",
        "/admin/rejudgings/{id}": f"/admin/rejudgings/{rejudging['id']}",
        "/admin/submissions/{id}": f"/admin/submissions/{made[0]}",
        "/admin/users/{id}": f"/admin/users/{account}",
        "/admin/webhooks/{id}": f"/admin/webhooks/{await until(delivery)}",
    }
    return {path: filled.get(path, path) for path in PATHS}
