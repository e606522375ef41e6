"""A whole service, and people who use its pages with Chromium.

All tests share the browser, and nearly all the service. The people of different tests use one
page after the other, without cookies and storage of those before them.
"""

import os
import shutil
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx
import pytest
from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    async_playwright,
    expect,
)

from deemster.domain.account import Role
from tests.api.browser import PASSWORD
from tests.cli.up.service import Up, all_gone
from tests.waiting import PATIENCE_S

CHROMIUM = shutil.which("chromium")
ARGUMENTS = ("--disable-gpu", "--disable-dev-shm-usage")
"""A container's /dev/shm may be small."""
AS_ROOT = ("--no-sandbox",)
PATIENCE_MS = PATIENCE_S * 1000
LARGE = {"width": 1440, "height": 900}
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


class Api:
    """The API as the admin whose token the first start wrote."""

    def __init__(self, judge: Up) -> None:
        token = (judge.data / "admin.token").read_text().strip()
        self._headers = {"Authorization": f"Bearer {token}"}
        self._url = judge.url

    async def ask(self, method: str, path: str, body: object = None) -> Any:
        return await self._send(method, path, json=body)

    async def add_person(self, name: str, role: Role = Role.USER) -> str:
        """Returns the code of a link that logs in: a password would need a slow hash."""
        made = await self._send(
            "POST",
            "/v1/admin/users/import",
            content=f"name,role\n{name},{role}\n",
            headers={**self._headers, "Content-Type": "text/csv"},
        )
        return str(made["users"][0]["link"].rpartition("/")[2])

    async def _send(self, method: str, path: str, **request: Any) -> Any:
        async with httpx.AsyncClient(
            base_url=self._url, headers=self._headers, timeout=PATIENCE_S, verify=False
        ) as client:
            answer = await client.request(method, path, **request)
        assert answer.is_success, answer.text
        return answer.json()


@pytest.fixture(scope="package")
def api(judge: Up) -> Api:
    return Api(judge)


async def log_in_by_link(context: BrowserContext, code: str) -> None:
    answer = await context.request.post("/v1/session/link", data={"code": code})
    assert answer.status == 201, await answer.text()


async def sign_up_by_request(context: BrowserContext, name: str) -> None:
    form: dict[str, str | float | bool] = {"name": name, "password": PASSWORD}
    made = await context.request.post("/signup", form=form, max_redirects=0)
    assert made.headers.get("location") == "/problems", await made.text()


async def sign_up_on_page(page: Page, name: str) -> None:
    await page.goto("/signup")
    await page.fill("[name=name]", name)
    await page.fill("[name=password]", PASSWORD)
    await page.click("main button")
    await page.wait_for_url("**/problems")


async def new_page(chromium: Browser, url: str, **options: Any) -> Page:
    context = await chromium.new_context(base_url=url, **{"viewport": LARGE, **options})
    context.set_default_timeout(PATIENCE_MS)
    return await context.new_page()


class SharedPage:
    """A page that one person after another uses: for a new one, Chromium starts a process."""

    def __init__(self, page: Page, url: str) -> None:
        self._page = page
        self._url = url
        self._is_lent = False

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[Page | None]:
        """None while another person uses it."""
        if self._is_lent:
            yield None
            return
        self._is_lent = True
        try:
            yield self._page
        finally:
            await self._forget()
            self._is_lent = False

    async def _forget(self) -> None:
        """Leaves nothing of the last person."""
        context = self._page.context
        for each in context.pages:
            if each is not self._page:
                await each.close()
        await context.set_offline(False)
        await self._page.unroute_all(behavior="ignoreErrors")
        await self._page.goto("about:blank")
        await context.clear_cookies()
        browser = await context.new_cdp_session(self._page)
        origin = {"origin": self._url, "storageTypes": "all"}
        await browser.send("Storage.clearDataForOrigin", origin)
        await browser.detach()


@pytest.fixture(scope="package")
async def shared_page(chromium: Browser, judge: Up) -> AsyncIterator[SharedPage]:
    page = await new_page(chromium, judge.url)
    yield SharedPage(page, judge.url)
    await page.context.close()


@pytest.fixture
async def enter(
    chromium: Browser, judge: Up, api: Api, shared_page: SharedPage
) -> AsyncIterator[Enter]:
    async def log_in(context: BrowserContext, name: str) -> None:
        await log_in_by_link(context, await api.add_person(name))

    async with entering(chromium, judge.url, log_in, shared_page) as opened:
        yield opened


@asynccontextmanager
async def entering(
    chromium: Browser,
    url: str,
    log_in: Callable[[BrowserContext, str], Awaitable[None]],
    shared_page: SharedPage | None = None,
) -> AsyncIterator[Enter]:
    """Opens a page as somebody new, who logs in by a request, or signs up on the page for it,
    which takes longer. No script or style may be refused.

    A person with options, or who changes what `SharedPage` does not restore, needs a context of
    their `own`.
    """
    faults: list[str] = []

    def note_fault(fault: Error) -> None:
        faults.append(str(fault))

    def note_line(line: ConsoleMessage) -> None:
        if "Content Security" in line.text:
            faults.append(f"{line.location}: {line.text}")

    async with AsyncExitStack() as stack:

        async def get_page(*, own: bool, **options: Any) -> Page:
            if shared_page is not None and not own and not options:
                lent = await stack.enter_async_context(shared_page.lend())
                if lent is not None:
                    return lent
            page = await new_page(chromium, url, **options)
            stack.push_async_callback(page.context.close)
            return page

        async def opened(
            name: str,
            path: str = "/problems",
            *,
            on_page: bool = False,
            own: bool = False,
            **options: Any,
        ) -> Page:
            page = await get_page(own=own, **options)
            page.on("pageerror", note_fault)
            stack.callback(page.remove_listener, "pageerror", note_fault)
            page.on("console", note_line)
            stack.callback(page.remove_listener, "console", note_line)
            if on_page:
                await sign_up_on_page(page, name)
            else:
                await log_in(page.context, name)
            await page.goto(path)
            return page

        yield opened
    assert not faults
