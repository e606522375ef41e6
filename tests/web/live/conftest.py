"""A whole service, and people who use its pages with Chromium.

All tests share the browser, and nearly all the service; each person has a context of their
own.
"""

import os
import shutil
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

from tests.api.browser import PASSWORD
from tests.cli.up.service import Up, all_gone
from tests.waiting import PATIENCE_S

CHROMIUM = shutil.which("chromium")
ARGUMENTS = ("--disable-gpu", "--disable-dev-shm-usage")
"""A container's /dev/shm may be small."""
AS_ROOT = ("--no-sandbox",)
PATIENCE_MS = PATIENCE_S * 1000
expect.set_options(timeout=PATIENCE_MS)

Enter = Callable[..., Awaitable[Page]]


@pytest.fixture(scope="package")
async def judge(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Up]:
    """A job that fails is a dead letter at once."""
    service = Up(tmp_path_factory.mktemp("judge"))
    try:
        await service.start(
            DEEMSTER_SIGN_UP="true",
            DEEMSTER_SUBMIT_INTERVAL_S="0",
            DEEMSTER_RUN_ATTEMPTS="1",
            DEEMSTER_WEBHOOK_ALLOW_PRIVATE="true",
        )
        yield service
    finally:
        processes = service.processes()
        service.process.send_signal(signal.SIGTERM)
        await service.ended()
        await all_gone(processes)


@pytest.fixture(scope="package")
async def chromium() -> AsyncIterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed: ./dev test installs it if it may")
    arguments = [*ARGUMENTS, *(AS_ROOT if os.geteuid() == 0 else ())]
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        await browser.close()


@pytest.fixture
async def enter(chromium: Browser, judge: Up) -> AsyncIterator[Enter]:
    async with entering(chromium, judge.url) as sign_up:
        yield sign_up


@asynccontextmanager
async def entering(chromium: Browser, url: str) -> AsyncIterator[Enter]:
    """Opens a page as somebody new, who signs up: by a request, or on the page for it, which
    takes longer. No script or style may be refused.
    """
    contexts: list[BrowserContext] = []
    faults: list[str] = []

    async def sign_up(
        name: str, path: str = "/problems", *, on_page: bool = False, **options: Any
    ) -> Page:
        context = await chromium.new_context(
            base_url=url, **{"viewport": {"width": 1440, "height": 900}, **options}
        )
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        page = await context.new_page()
        page.on("pageerror", lambda fault: faults.append(str(fault)))
        page.on(
            "console",
            lambda line: (
                faults.append(f"{line.location}: {line.text}")
                if "Content Security" in line.text
                else None
            ),
        )
        if on_page:
            await page.goto("/signup")
            await page.fill("[name=name]", name)
            await page.fill("[name=password]", PASSWORD)
            await page.click("main button")
            await page.wait_for_url("**/problems")
        else:
            form: dict[str, str | float | bool] = {"name": name, "password": PASSWORD}
            made = await context.request.post("/signup", form=form, max_redirects=0)
            assert made.headers.get("location") == "/problems", await made.text()
        await page.goto(path)
        return page

    yield sign_up
    for each in contexts:
        await each.close()
    assert not faults
