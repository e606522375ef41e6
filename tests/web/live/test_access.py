"""Pages are accessible: axe finds nothing, in both colour schemes (W4)."""

from functools import partial

import pytest
from playwright.async_api import Page, expect

from tests.waiting import until
from tests.web.live.conftest import Enter
from tests.web.test_islands import ROOT

pytestmark = pytest.mark.asyncio(loop_scope="module")
AXE = ROOT / "islands" / "node_modules" / "axe-core" / "axe.min.js"
PATHS = (
    "/problems",
    "/problems/prob_aplusb",
    "/submissions",
    "/account",
    "/verdicts/wrong-answer",
    "/problems/prob_none",
)
"""Of one who is logged in; the last one is an error page."""
RUN = "axe.run(document, {resultTypes: ['violations']})"


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: ./dev check does it")
async def test_w4_axe_finds_nothing_on_the_pages_for_solving(enter: Enter) -> None:
    page = await enter("evelyn")
    faults = [
        fault
        for path in PATHS
        for scheme in ("light", "dark")
        for fault in await violations(page, path, scheme)
    ]
    assert not faults, "\n".join(faults)


async def violations(page: Page, path: str, scheme: str) -> list[str]:
    await page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    await page.goto(path)
    if path.endswith("aplusb"):
        await page.locator(".cm-content").wait_for()
    await page.evaluate(AXE.read_text())
    found = await page.evaluate(RUN)
    return [
        f"{path} {scheme}: {each['help']}: {[node['html'] for node in each['nodes']]}"
        for each in found["violations"]
    ]


async def test_w4_the_keyboard_is_enough(enter: Enter) -> None:
    page = await enter("joan", "/problems/prob_aplusb")
    await page.locator(".cm-content").wait_for()
    await page.keyboard.press("?")
    await expect(page.locator("#shortcuts")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.locator("#shortcuts")).to_be_hidden()
    await page.locator("select[name=language]").focus()
    editor, submit = page.locator(".cm-content"), page.locator("#submit")
    for _ in range(3):
        await page.keyboard.press("Tab")
    await expect(editor).to_be_focused()
    await page.keyboard.type("?")
    await expect(page.locator("#shortcuts")).to_be_hidden()
    assert await until(partial(leaves_editor, page)), "after Escape, Tab leaves the editor"
    await expect(submit).to_be_focused()


async def leaves_editor(page: Page) -> bool:
    """Tab must follow Escape within two seconds, which a busy machine may miss."""
    await page.keyboard.press("Escape")
    await page.keyboard.press("Tab")
    return not await page.evaluate("document.activeElement.matches('.cm-content')")
