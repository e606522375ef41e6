"""Takes the pictures: `python -m tests.screenshots [NAME …]`, all if no page is named.

All of them go to .cache/screenshots; those that README and docs show go to docs/screenshots,
too, with fewer colours if pngquant is installed.
"""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, BrowserContext, Page, async_playwright

from tests.api.browser import PASSWORD
from tests.cli.up.service import Up
from tests.screenshots.sample_data import ROOT, SampleData, fill
from tests.web.live.conftest import ARGUMENTS, AS_ROOT, CHROMIUM

ALL = ROOT / ".cache" / "screenshots"
SHOWN = ROOT / "docs" / "screenshots"
PALETTE = ("pngquant", "--force", "--skip-if-larger", "--quality", "70-95", "--strip")
SIZES = {390: 844, 1440: 900}
PLAIN: dict[str, Any] = {
    "color_scheme": "light",
    "contrast": "no-preference",
    "forced_colors": "none",
}
SCHEMES: dict[str, dict[str, Any]] = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "contrast": {"contrast": "more"},
    "forced": {"color_scheme": "dark", "forced_colors": "active"},
}
IN_DOCS = {
    "problem-1440-light",
    "wrong-answer-1440-dark",
    "overview-1440-light",
    "accepted-390-light",
}
CHARTS = ".chart:last-child canvas"
READY_MS = 120_000
"""The first values of a chart come half a minute after the start of the service."""
FRAMES = """() => new Promise(
  done => requestAnimationFrame(() => requestAnimationFrame(done)))"""
EDITED = "#solution[aria-busy=false] .cm-content"
SETTINGS = {
    "DEEMSTER_SIGN_UP": "true",
    "DEEMSTER_RUN_ATTEMPTS": "1",
    "DEEMSTER_SUBMIT_INTERVAL_S": "0.001",
}


@dataclass(frozen=True, slots=True)
class Shot:
    path: str
    who: str = ""
    language: str = "en"
    ready: str = "main"
    """What must be there before the picture is taken."""


def shots(data: SampleData) -> dict[str, Shot]:
    seen = {verdict: f"/submissions/{each}" for verdict, each in data.by_verdict.items()}
    wrong = data.by_verdict["Wrong Answer"]
    return {
        "log-in": Shot("/login"),
        "sign-up": Shot("/signup"),
        "problems": Shot("/problems", "ada"),
        "problem": Shot("/problems/prob_aplusb", "ada", ready=EDITED),
        "problem-german": Shot("/problems/prob_treasure", "ada", "de", EDITED),
        "accepted": Shot(seen["Accepted"], "ada"),
        "wrong-answer": Shot(seen["Wrong Answer"], "ada", ready=".merge"),
        "compile-error": Shot(seen["Compile Error"], "ada"),
        "runtime-error": Shot(seen["Runtime Error"], "ada"),
        "partial": Shot(seen["Partial"], "ada", "de"),
        "submissions": Shot("/submissions", "ada"),
        "verdict": Shot("/verdicts/time-limit-exceeded", "ada"),
        "languages": Shot("/languages#cpp", "ada"),
        "account": Shot(
            "/account", "maximiliane-friederike.von-hohenlohe-langenburg-der-juengeren-87"
        ),
        "not-found": Shot("/problems/prob_none", "ada", "de"),
        "no-submissions": Shot("/submissions", "margaret.h"),
        "author": Shot("/admin/problems", "margaret.h"),
        "overview": Shot("/admin", "admin", ready=CHARTS),
        "overview-german": Shot("/admin", "admin", "de", CHARTS),
        "workers": Shot("/admin/workers", "admin"),
        "all-submissions": Shot("/admin/submissions", "admin"),
        "jury": Shot(f"/admin/submissions/{wrong}", "admin"),
        "dead-letters": Shot("/admin/dead-letters", "admin"),
        "dead-letter": Shot(f"/admin/dead-letters/{data.dead_letter}", "admin", "de"),
        "rejudging": Shot(f"/admin/rejudgings/{data.rejudging}", "admin"),
        "manage-problems": Shot("/admin/problems", "admin"),
        "verification": Shot("/admin/problems/prob_brokenjudge/verification", "admin"),
        "users": Shot("/admin/users", "admin"),
        "user-import": Shot("/admin/user-import", "admin", "de"),
        "webhooks": Shot("/admin/webhooks", "admin"),
        "audit": Shot("/admin/audit", "admin"),
        "settings": Shot("/admin/settings", "admin"),
        "welcome": Shot("/welcome", "admin", "de"),
        "tokens": Shot("/account/tokens", "ada"),
    }


class Photographer:
    """Keeps one browser context for each person and language."""

    def __init__(self, browser: Browser, url: str) -> None:
        self._browser = browser
        self._url = url
        self._pages: dict[tuple[str, str], Page] = {}

    async def take(self, name: str, shot: Shot) -> None:
        key = (shot.who, shot.language)
        if key not in self._pages:
            self._pages[key] = await self._enter(*key)
        page = self._pages[key]
        for width, height in SIZES.items():
            await page.set_viewport_size({"width": width, "height": height})
            for scheme, media in SCHEMES.items():
                await page.emulate_media(**{**PLAIN, **media})
                await page.goto(shot.path)
                await page.locator(shot.ready).first.wait_for(timeout=READY_MS)
                for each in await page.locator(".cm-editor").all():
                    # An editor learns the height of its lines when it is seen.
                    await each.scroll_into_view_if_needed()
                    await page.evaluate(FRAMES)
                await page.evaluate("scrollTo(0, 0)")
                path = ALL / f"{name}-{width}-{scheme}.png"
                await page.screenshot(path=path, full_page=width == 390)

    async def _enter(self, who: str, language: str) -> Page:
        context: BrowserContext = await self._browser.new_context(
            base_url=self._url, locale=language, reduced_motion="reduce"
        )
        page = await context.new_page()
        if who:
            await page.goto("/login")
            await page.fill("[name=name]", who)
            await page.fill("[name=password]", PASSWORD)
            await page.click("main button")
            await page.wait_for_url("**/problems")
        return page


async def main(names: Iterable[str]) -> None:
    if CHROMIUM is None:
        sys.exit("Chromium is not installed: sudo apt-get install chromium")
    ALL.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="deemster-screenshots-") as directory:
        judge = Up(Path(directory))
        await judge.start(0, **SETTINGS)
        try:
            data = await fill(judge)
            wanted = shots(data)
            async with async_playwright() as playwright:
                arguments = [*ARGUMENTS, *(AS_ROOT if os.geteuid() == 0 else ())]
                browser = await playwright.chromium.launch(
                    executable_path=CHROMIUM, args=arguments
                )
                photographer = Photographer(browser, judge.url)
                for name in names or wanted:
                    await photographer.take(name, wanted[name])
                await browser.close()
        finally:
            await judge.end(signal.SIGTERM)
    publish()


def publish() -> None:
    SHOWN.mkdir(exist_ok=True)
    for name in sorted(IN_DOCS):
        made, target = ALL / f"{name}.png", SHOWN / f"{name}.png"
        shutil.copyfile(made, target)
        if shutil.which(PALETTE[0]):
            subprocess.run([*PALETTE, "--output", target, made], check=False)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
