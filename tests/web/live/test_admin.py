"""An admin's first visit, an import and the charts, in a real browser (W3, W4)."""

import re
import shutil
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from deemster.api.permissions import PAGE_PERMISSIONS
from deemster.problems.new_package import make_package
from tests.api.browser import PASSWORD
from tests.api.routes.test_problem_import import zipped
from tests.cli.up.service import Up
from tests.screenshots.sample_data import files_of, revisions
from tests.waiting import PATIENCE_S, until
from tests.web.live.test_access import (
    AXE,
    JUDGED_PATHS,
    NEEDS_AXE,
    PATHS,
    PUBLIC_PATHS,
    RUN,
)

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
    "/problems",
    "/submissions",
    "/welcome",
)
LONG_TITLE = "Donaudampfschifffahrtsgesellschaftskapit"
MACROS = "\n$\\newcommand{\\most}{\\le 10^9}$ $x\\most$ $x_1_$\n"
LISTS = (
    "/admin/submissions",
    "/admin/users",
    "/admin/webhooks",
    "/admin/rejudgings",
)
"""The first row of each leads to a page of its own."""
SEEN_ELSEWHERE = ("/log-in/code", "/admin/dead-letters/1")
FILES = {"/static/{name}", "/admin/problems/{id}/package"}
SCHEMES: Sequence[tuple[dict[str, Any], int]] = (
    ({"color_scheme": "light"}, 1440),
    ({"color_scheme": "dark"}, 390),
)
RARE_SCHEMES: Sequence[tuple[dict[str, Any], int]] = (
    ({"color_scheme": "dark", "contrast": "more"}, 1440),
    ({"color_scheme": "light", "forced_colors": "active"}, 390),
)


PLAIN: dict[str, Any] = {
    "color_scheme": "light",
    "contrast": "null",
    "forced_colors": "none",
    "reduced_motion": "reduce",
}


@pytest.fixture(scope="module")
async def admin(chromium: Browser, judge: Up) -> AsyncIterator[Page]:
    """Follows the link that the first start printed, and sets a password."""
    link = LINK.search(judge.output)
    assert link, judge.output
    context = await chromium.new_context(
        base_url=judge.url, bypass_csp=True, timezone_id="Asia/Tokyo"
    )
    context.set_default_timeout(PATIENCE_S * 1000)
    if AXE.exists():
        await context.add_init_script(path=AXE)  # sent once, and run in each page
    page = await context.new_page()
    await page.goto(link[0])
    if AXE.exists():
        assert not await faults_of(page)
    await page.click("main button")
    await page.wait_for_url("**/welcome")
    await page.fill("[name=password]", PASSWORD)
    await page.click("main button.main")
    await page.get_by_role("status").wait_for()
    yield page
    await context.close()


async def test_w3_the_first_start_leads_to_a_welcome_page(admin: Page, judge: Up) -> None:
    """Its link works once; the page shows the sample problems and what to do next."""
    used = LINK.search(judge.output)
    assert used
    await admin.goto(used[0])
    await expect(admin.locator("main")).to_contain_text("used before, or has expired")
    await admin.goto("/welcome")
    await expect(admin.locator("main .notice")).to_contain_text("Your password is set.")
    await expect(admin.locator(".tiles a", has_text="A plus B")).to_be_visible()
    steps = admin.locator(".steps a")
    await expect(steps).to_have_count(3)
    for number, path in enumerate(("/problems/prob_aplusb", "/admin/users", "/admin/problems")):
        await admin.goto("/welcome")
        await steps.nth(number).click()
        await admin.wait_for_url(f"**{path}")


async def test_w4_dates_are_in_the_time_zone_of_the_browser(admin: Page) -> None:
    await admin.goto("/account")
    await expect(admin.locator("[name=time_zone]")).to_have_value("Asia/Tokyo")


async def test_w3_the_examples_of_an_imported_package_are_judged_while_the_page_is_open(
    admin: Page, tmp_path: Path
) -> None:
    """One of them has a wrong label. They are in no list of submissions."""
    made = make_package(tmp_path, "verified")
    (made / "submissions" / "accepted" / "wrong.py").write_text("print(input())\n")
    for slow in ("time_limit_exceeded", "run_time_error"):
        shutil.rmtree(made / "submissions" / slow)
    await import_package(admin, made, "verify", "draft")
    await admin.evaluate("window.isTheSamePage = true")
    await admin.locator("#verification[data-state=done]").wait_for()
    assert await admin.evaluate("window.isTheSamePage === true")
    await expect(admin.locator("#verification [role=status]")).to_contain_text("3 of 4")
    wrong = admin.locator("#verification tr", has_text="wrong.py")
    await expect(wrong).to_contain_text("The verdict is Wrong Answer, expected Accepted.")
    await admin.get_by_role("link", name="accepted/wrong.py").click()
    await expect(admin.locator("p.large")).to_contain_text("Wrong Answer")
    await admin.goto("/submissions")
    await expect(admin.get_by_text("You have not submitted anything yet.")).to_be_visible()


async def import_package(admin: Page, package: Path, *chosen: str) -> None:
    content = zipped(package, within=None)
    await admin.goto("/admin/problems")
    await admin.set_input_files(
        "[name=package]",
        {"name": f"{package.name}.zip", "mimeType": "application/zip", "buffer": content},
    )
    for name in ("verify", "draft"):
        await admin.set_checked(f"[name={name}]", name in chosen)
    await admin.click("main button.main")


async def test_w3_a_package_is_imported_in_the_browser_and_a_dead_letter_requeued(
    admin: Page, judge: Up, tmp_path: Path
) -> None:
    """Q7: the test data is gone when the first submission comes, and back for the second.
    W1: its statement has a macro, which only the browser can show.
    """
    made = make_package(tmp_path, "mine")
    statement = made / "statement" / "problem.en.md"
    statement.write_text(statement.read_text() + MACROS)
    before = revisions(judge)
    await import_package(admin, made)
    await admin.get_by_role("status").get_by_role("link", name="prob_mine").click()
    await admin.wait_for_url("**/problems/prob_mine")
    await expect(admin.locator("math", has_text="x≤109")).to_be_visible()
    await expect(admin.locator("code.tex")).to_have_text("x_1_")

    [digest] = revisions(judge) - before
    files = files_of(judge, digest)
    assert len(files) == 2
    for each in files:
        each.rename(each.with_name(f"gone-{each.name}"))
    source = (made / "submissions" / "accepted" / "formula.py").read_text()
    await submit(admin, "prob_mine", source, f"{judge.url}/healthz")
    await until(partial(has_row, admin, "/admin/dead-letters"))
    await admin.locator("tbody th a").click()
    await expect(admin.locator("main .fault")).to_contain_text(digest)
    if AXE.exists():
        assert not await faults_of(admin)
    for each in files:
        each.with_name(f"gone-{each.name}").rename(each)
    await admin.get_by_role("button", name="Requeue").click()
    await expect(admin.get_by_role("status")).to_contain_text("in the queue again")
    await admin.locator("dd a").last.click()
    judged = admin.url
    await until(partial(shows_verdict, admin, judged, "Accepted"))
    await admin.goto("/admin/dead-letters")
    await expect(admin.get_by_text("There are no open dead letters.")).to_be_visible()


async def submit(page: Page, problem: str, source: str, webhook_url: str) -> str:
    """Returns the path of the submission's page."""
    body = {"problem_id": problem, "language": "python3", "source_code": source}
    answer = await post(page, "/v1/submissions", {**body, "webhook_url": webhook_url})
    return f"/submissions/{answer['id']}"


async def post(page: Page, path: str, body: dict[str, Any]) -> Any:
    headers = {"X-CSRF-Token": await page.evaluate("document.body.dataset.csrf")}
    answer = await page.request.post(path, data=body, headers=headers)
    assert answer.status in {201, 202}, await answer.text()
    return await answer.json()


async def has_row(page: Page, path: str) -> bool:
    await page.goto(path)
    return await page.locator("tbody tr").count() > 0


async def shows_verdict(page: Page, path: str, verdict: str) -> bool:
    await page.goto(path)
    return verdict in await page.locator("p.large").inner_text()


@NEEDS_AXE
async def test_w4_axe_finds_nothing_on_pages_of_admins(
    admin: Page, judge: Up, tmp_path: Path
) -> None:
    """In all schemes, on a large screen and on a phone; nothing is wider than the page."""
    made = make_package(tmp_path, "seen")
    settings = made / "problem.yaml"
    settings.write_text(settings.read_text().replace('"seen"', f'"{LONG_TITLE}"'))
    await import_package(admin, made, "verify")
    await admin.locator("#verification").wait_for()
    source = (made / "submissions" / "accepted" / "formula.py").read_text()
    judged = await submit(admin, "prob_seen", source, f"{judge.url}/healthz")
    await until(partial(shows_verdict, admin, judged, "Accepted"))
    await post(admin, "/v1/admin/rejudgings", {"problem": "prob_seen"})
    linked = ["/admin/problems/prob_seen/verification"]
    linked += [await first_link(admin, each) for each in LISTS]
    found = []
    for path in (*PAGES, *linked):
        await admin.goto(path)
        found += await faults_of(admin, RARE_SCHEMES if path == "/admin" else ())
    assert not found
    looked_at = [*PAGES, *linked, *PATHS, *PUBLIC_PATHS, *JUDGED_PATHS, *SEEN_ELSEWHERE]
    pages = {path for method, path in PAGE_PERMISSIONS if method == "GET"} - FILES
    assert not {
        page
        for page in pages
        if not any(fits(page, each.partition("?")[0]) for each in looked_at)
    }


async def faults_of(
    page: Page, more: Sequence[tuple[dict[str, Any], int]] = ()
) -> list[tuple[str, dict[str, Any], str]]:
    found = []
    for scheme, width in (*SCHEMES, *more):
        await page.emulate_media(**{**PLAIN, **scheme})
        await page.set_viewport_size({"width": width, "height": 844})
        faults = await page.evaluate(RUN, {})
        found += [(page.url, scheme, each["id"]) for each in faults["violations"]]
        root = "document.documentElement"
        spare = await page.evaluate(f"{root}.scrollWidth - {root}.clientWidth")
        assert spare == 0, (page.url, width)
    await page.emulate_media(**PLAIN)
    return found


async def first_link(page: Page, path: str) -> str:
    await page.goto(path)
    return str(await page.locator("tbody th a").first.get_attribute("href"))


def fits(template: str, path: str) -> bool:
    return re.fullmatch(re.sub(r"{\w+}", "[^/]+", template), path) is not None


async def test_w3_the_overview_draws_its_charts_without_being_reloaded(admin: Page) -> None:
    """Comes last, because a chart needs samples of more than a quarter of a minute."""
    await admin.goto("/admin")
    await admin.evaluate("window.isTheSamePage = true")
    await admin.locator(".chart canvas").first.wait_for()
    assert await admin.evaluate("window.isTheSamePage === true")
    failures = admin.locator(".chart", has_text="Failures by cause")
    await failures.locator(".u-over").hover()
    await expect(failures.locator(".pointed")).to_have_text(re.compile(r"^-?[\d.]+ min: \d"))
