"""People solve problems with the pages in a real browser (W1, W4)."""

import pytest

from tests.web.live.conftest import Enter

pytestmark = pytest.mark.asyncio(loop_scope="module")
PROBLEM = "/problems/prob_aplusb"


async def test_w1_a_sample_is_copied_by_a_button(enter: Enter) -> None:
    page = await enter("copyist", PROBLEM, permissions=["clipboard-read", "clipboard-write"])
    sample = page.locator(".sample pre").first
    await page.locator(".sample .copy").first.click()
    await page.get_by_text("Copied").wait_for()
    assert await page.evaluate("navigator.clipboard.readText()") == await sample.inner_text()
