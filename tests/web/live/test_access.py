"""Pages are accessible: axe finds nothing, in both colour schemes (W4)."""

from functools import partial

import pytest
from playwright.async_api import Page, expect

from tests.waiting import until
from tests.web.live.conftest import Enter
from tests.web.test_islands import ROOT

AXE = ROOT / "islands" / "node_modules" / "axe-core" / "axe.min.js"
PATHS = (
    "/problems?q=a&difficulty=easy&result=open&tag=arithmetic",
    "/problems?q=nothing",
    "/problems/prob_aplusb",
    "/submissions?problem=prob_aplusb",
    "/account",
    "/languages",
    "/verdicts",
    "/verdicts/wrong-answer",
    "/problems/prob_none",
)
"""Of one who is logged in; the last one is an error page."""
NEEDS_AXE = pytest.mark.skipif(
    not AXE.exists(), reason="axe-core is not installed: ./dev check does it"
)
PUBLIC_PATHS = ("/login", "/signup")
JUDGED_PATHS = ("/submissions/{id}", "/submissions/compare")
"""Of a submission that the test makes."""
RUN = """options => axe.run(document, { ...options, resultTypes: ["violations"] }).then(
  ({ violations }) => ({ violations }))"""
"""Only what is wrong: the whole result has megabytes."""
COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
"""The rules whose result depends on the colour scheme."""


@NEEDS_AXE
async def test_w4_axe_finds_nothing_on_the_pages_for_solving(enter: Enter) -> None:
    page = await enter("evelyn", "/problems/prob_aplusb", own=True)
    judged = [await judged_page(page, source) for source in ("print(1)", "print(2)")]
    compared = f"/submissions/compare?new={judged[1].rpartition('/')[2]}"
    paths = (*PATHS, judged[0], compared)
    faults = [fault for path in paths for fault in await violations(page, path)]
    await page.click("form[action='/logout'] button")
    await page.wait_for_url("**/login")
    faults += [fault for path in PUBLIC_PATHS for fault in await violations(page, path)]
    assert not faults, "\n".join(faults)


async def judged_page(page: Page, source: str) -> str:
    """The path of a new submission that was judged."""
    body = {"problem_id": "prob_aplusb", "language": "python3", "source_code": source}
    token = await page.get_attribute("body", "data-csrf")
    headers = {"X-CSRF-Token": token or ""}
    answer = await page.request.post("/v1/submissions", data=body, headers=headers)
    assert answer.ok, await answer.text()
    submission = (await answer.json())["id"]
    await page.request.get(f"/v1/submissions/{submission}?wait=30")
    return f"/submissions/{submission}"


async def violations(page: Page, path: str) -> list[str]:
    """All rules in the light scheme, and those about colours also in the dark one."""
    await page.emulate_media(color_scheme="light", reduced_motion="reduce")
    await page.goto(path)
    if path == "/problems/prob_aplusb":
        await page.locator(".cm-content").wait_for()
    await page.evaluate(AXE.read_text())
    light = await page.evaluate(RUN, {})
    await page.emulate_media(color_scheme="dark")
    dark = await page.evaluate(RUN, COLOURS)
    return [
        f"{path} {scheme}: {each['help']}: {[node['html'] for node in each['nodes']]}"
        for scheme, found in (("light", light), ("dark", dark))
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
