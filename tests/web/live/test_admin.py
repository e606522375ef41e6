"""An admin's first visit, an import and the charts, in a real browser (W3, W4)."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from deemster.problems.new_package import make_package
from tests.api.browser import PASSWORD
from tests.api.routes.test_problem_import import zipped
from tests.cli.up.service import Up
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.asyncio(loop_scope="module")
AXE = Path(__file__).parents[3] / "islands" / "node_modules" / "axe-core" / "axe.min.js"
LINK = re.compile(r"http://\S+/log-in/\S+")
PAGES = (
    "/admin",
    "/admin/workers",
    "/admin/submissions",
    "/admin/dead-letters",
    "/admin/rejudgings",
    "/admin/problems",
    "/admin/users",
    "/admin/user-import",
    "/admin/webhooks",
    "/admin/audit",
    "/admin/settings",
    "/admin/queues/default",
    "/account",
    "/account/tokens",
    "/welcome",
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def admin(chromium: Browser, judge: Up) -> AsyncIterator[Page]:
    """Follows the link that the first start printed, and sets a password."""
    link = LINK.search(judge.output)
    assert link, judge.output
    context = await chromium.new_context(base_url=judge.url, bypass_csp=True)
    context.set_default_timeout(PATIENCE_S * 1000)
    page = await context.new_page()
    await page.goto(link[0])
    await page.click("main button")
    await page.wait_for_url("**/welcome")
    await page.fill("[name=password]", PASSWORD)
    await page.click("main button.main")
    await page.get_by_role("status").wait_for()
    yield page
    await context.close()


async def test_w3_the_overview_draws_its_charts_without_being_reloaded(admin: Page) -> None:
    await admin.goto("/admin")
    await admin.evaluate("window.isTheSamePage = true")
    await admin.locator(".chart svg polyline").first.wait_for(state="attached")
    assert await admin.evaluate("window.isTheSamePage === true")


async def test_w3_a_package_is_imported_in_the_browser(admin: Page, tmp_path: Path) -> None:
    package = tmp_path / "mine.zip"
    (tmp_path / "packages").mkdir()
    package.write_bytes(zipped(make_package(tmp_path / "packages", "mine"), within=None))
    await admin.goto("/admin/problems")
    await admin.set_input_files("[name=package]", package)
    await admin.click("main button.main")
    await admin.get_by_role("status").get_by_role("link", name="prob_mine").click()
    await admin.wait_for_url("**/problems/prob_mine")


async def test_w4_axe_finds_nothing_on_pages_of_admins(admin: Page) -> None:
    """In both colour schemes, on a desk and on a phone; nothing is wider than the page."""
    script = AXE.read_text()
    found = []
    for scheme, width in (("light", 1440), ("dark", 390)):
        await admin.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        await admin.set_viewport_size({"width": width, "height": 844})
        for path in PAGES:
            await admin.goto(path)
            await admin.evaluate(script)
            faults = await admin.evaluate("axe.run()")
            found += [(path, scheme, each["id"]) for each in faults["violations"]]
            root = "document.documentElement"
            spare = await admin.evaluate(f"{root}.scrollWidth - {root}.clientWidth")
            assert spare == 0, (path, width)
    assert not found
