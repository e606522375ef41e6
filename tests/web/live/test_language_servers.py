"""A language server completes and checks what people type in a real browser (W1, W4)."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Error, expect

from deemster.bench.load.processes import free_address
from deemster.programs.build.installed_tool import own_places
from deemster.programs.build.toolchain import locate_tools
from deemster.programs.language_servers import shipped_language_servers
from tests.system.service import Service
from tests.waiting import until, until_ready
from tests.web.live.conftest import Enter, entering, sign_up_by_request
from tests.web.live.test_solving import PROBLEM, write

SETTINGS: dict[str, Any] = {
    "sign_up": True,
    "language_servers": 1,
    "language_servers_yield": False,
}
HOVER_MS = 2_000
MISSING = [
    each.name
    for each in shipped_language_servers()
    if isinstance(locate_tools(each, own_places()), str)
]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"{MISSING} are not installed")


@pytest.fixture
async def enter(
    chromium: Browser, tmp_path: Path, database_url: str, redis_url: str, queue_env: str
) -> AsyncIterator[Enter]:
    address = free_address()
    async with Service.open(
        tmp_path,
        database_url,
        redis_url,
        queue_env,
        host=address.host,
        port=address.port,
        **SETTINGS,
    ) as service:
        service.start("api", "relay", "worker")
        await until_ready(address.url)
        async with entering(chromium, address.url, sign_up_by_request) as opened:
            yield opened


async def test_w1_errors_are_marked_and_names_completed_while_one_types(enter: Enter) -> None:
    """One server may run here: the second person is told that none is free, and can write."""
    page = await enter("ada", PROBLEM)
    editor = page.locator(".cm-content")
    await write(page, "import math\nprint(nothing)\nmath.s")
    mark = page.locator(".cm-lintRange-error", has_text="nothing")
    await expect(mark).to_be_visible()
    await editor.press("q")
    offered = page.locator(".cm-tooltip-autocomplete li", has_text="sqrt")
    # The editor takes Enter as a new line if it comes within 75 ms of the list.
    await offered.first.click()
    await expect(editor).to_contain_text("math.sqrt")
    await expect(page.locator("#saved")).to_have_text("Saved")
    explanation = page.locator(".cm-tooltip", has_text='"nothing" is not defined')

    async def hover() -> bool:
        """New findings of the server keep the explanation from being shown."""
        await page.mouse.move(0, 0)
        await mark.hover()
        try:
            await explanation.wait_for(timeout=HOVER_MS)
        except Error:
            return False
        return True

    await until(hover)

    other = await enter("grace", PROBLEM)
    await write(other, "print(nothing)")
    await expect(other.locator("#saved")).to_have_text("Saved")
    told = other.get_by_text(
        "No language server is free: the editor works without one for now."
    )
    await expect(told).to_be_visible()
    await expect(other.locator(".cm-lintRange-error")).to_have_count(0)

    # The first server ends when its page is left; then the other person gets it, by and by.
    await page.close()
    await expect(other.locator(".cm-lintRange-error").first).to_be_visible()
