"""People solve problems with the pages in a real browser (W1, W4, W5)."""

import re

import pytest
from playwright.async_api import Page, Route, expect

from tests.web.live.conftest import Enter

pytestmark = pytest.mark.asyncio(loop_scope="module")
PROBLEM = "/problems/prob_aplusb"
RIGHT = "print(sum(map(int, input().split())))"
WRONG = "import sys\nprint('seen', file=sys.stderr)\nprint(1)\nprint(2)"
PASTE = """(editor, text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  const options = { clipboardData, bubbles: true, cancelable: true };
  editor.dispatchEvent(new ClipboardEvent("paste", options));
}"""
ASKS = "name = input('Who? ')\nprint('Hello', name)"


async def write(page: Page, source: str, language: str = "python3") -> None:
    """Types a program into the editor, in place of what is there."""
    editor = page.locator(".cm-content")
    await editor.wait_for()
    await page.select_option("select[name=language]", language)
    await expect(page.locator("#solution")).to_have_attribute("aria-busy", "false")
    await replace_source(page, source)


async def replace_source(page: Page, source: str) -> None:
    """Pastes, as people do: what Chromium itself inserts into an editor has styles, which the
    page refuses.
    """
    editor = page.locator(".cm-content")
    await editor.press("Control+A")
    await editor.evaluate(PASTE, source)


async def test_w1_a_submission_is_judged_before_ones_eyes(enter: Enter) -> None:
    """W1: the verdict and the cases come without a reload; a sample is copied by a button."""
    page = await enter("ada", PROBLEM, permissions=["clipboard-read", "clipboard-write"])
    sample = page.locator(".sample pre").first
    await page.locator(".sample .copy").first.click()
    await expect(page.get_by_text("Copied")).to_be_visible()
    assert await page.evaluate("navigator.clipboard.readText()") == await sample.inner_text()

    await write(page, RIGHT)
    await page.click("#submit")
    await page.wait_for_url("**/submissions/sub_*")
    await page.evaluate("window.isSamePage = true")
    await expect(page.locator(".result .verdict")).to_contain_text("Accepted")
    await expect(page.locator(".case.good")).not_to_have_count(0)
    await expect(page.locator(".case .cost").first).to_contain_text("ms")
    assert await page.evaluate("window.isSamePage"), "no reload was needed"


async def test_w1_a_wrong_answer_shows_the_difference_and_stderr(enter: Enter) -> None:
    page = await enter("grace", PROBLEM)
    await write(page, WRONG)
    await page.keyboard.press("Control+Shift+Enter")
    await page.wait_for_url("**/submissions/sub_*")
    await expect(page.locator(".result .verdict")).to_contain_text("Wrong Answer")
    await expect(page.locator(".merge .cm-changedLine").first).to_be_visible()
    await expect(page.get_by_text("seen", exact=True)).to_be_visible()


async def test_w1_a_compile_error_stands_at_its_line(enter: Enter) -> None:
    page = await enter("linus", PROBLEM)
    await write(page, "int main(void)\n{\n    return nothing;\n}\n", "c")
    await page.click("#run-input")
    await expect(page.locator(".cm-lintRange-error")).to_have_text("    return nothing;")
    await page.click("#submit")
    await page.wait_for_url("**/submissions/sub_*")
    mark = page.locator("#L3 + .mark.error")
    await expect(mark).to_contain_text("nothing")


async def test_w1_a_program_runs_on_ones_own_input_and_in_a_terminal(enter: Enter) -> None:
    page = await enter("barbara", PROBLEM)
    await write(page, ASKS)
    await page.fill("#stdin", "Ada\n")
    await page.click("#run-input")
    await expect(page.locator("#output pre")).to_have_text("Who? Hello Ada\n")
    await expect(page.locator("#run-state")).to_contain_text("MiB")

    await page.click("#run-terminal")
    rows = page.locator("#terminal .xterm-rows")
    await expect(rows).to_contain_text("Who?")
    await page.locator("#terminal .xterm-helper-textarea").press_sequentially("Grace\n")
    await expect(rows).to_contain_text("Hello Grace")
    await expect(page.locator("#stop")).to_be_hidden()


async def test_w5_nothing_typed_is_lost_while_the_connection_is_down(enter: Enter) -> None:
    """W5: it is kept in the browser, saved later, and there on another device."""
    page = await enter("frances", PROBLEM)
    await write(page, "print('first')")
    await expect(page.locator("#saved")).to_have_text("Saved")

    await page.context.set_offline(True)
    await replace_source(page, "print('typed offline')")
    await expect(page.locator("#saved")).to_contain_text("kept in this browser")
    await page.context.set_offline(False)
    await expect(page.locator("#saved")).to_have_text("Saved")

    # The page is left before anything could be sent.
    await page.route("**/v1/code-sessions/**", lambda route: route.abort())
    await replace_source(page, "print('typed last')")
    await page.goto("/problems")
    await page.unroute_all()
    await page.goto(PROBLEM)
    await expect(page.locator(".cm-content")).to_have_text("print('typed last')")
    await expect(page.locator("#saved")).to_have_text("Saved")
    elsewhere = await page.request.get(PROBLEM)
    assert "print(&#39;typed last&#39;)</textarea>" in await elsewhere.text()


async def test_w5_a_submission_without_an_answer_is_sent_again_and_counts_once(
    enter: Enter,
) -> None:
    page = await enter("margaret", PROBLEM)
    await write(page, RIGHT)
    await page.route("**/v1/submissions", arrives_but_answer_is_lost, times=2)
    await page.click("#submit")
    await expect(page.locator("#sending")).to_contain_text("sent again")
    await page.wait_for_url("**/submissions/sub_*")
    await page.goto("/submissions")
    await expect(page.locator("tbody tr")).to_have_count(1)


async def arrives_but_answer_is_lost(route: Route) -> None:
    await route.fetch()
    await route.abort()


async def test_w5_a_version_of_another_window_is_not_overwritten(enter: Enter) -> None:
    page = await enter("katherine", PROBLEM)
    await write(page, "print('one')")
    await expect(page.locator("#saved")).to_have_text("Saved")
    other = await page.context.new_page()
    await other.goto(PROBLEM)
    await write(other, "print('two')")
    await expect(other.locator("#saved")).to_have_text("Saved")
    await write(page, "print('three')")
    await expect(page.locator("#conflict")).to_be_visible()
    await page.click("#take-other")
    await expect(page.locator(".cm-content")).to_have_text("print('two')")
    await expect(page.locator("#conflict")).to_be_hidden()


async def test_w1_templates_files_and_the_language_of_last_time(enter: Enter) -> None:
    page = await enter("hedy", PROBLEM)
    await expect(page.locator(".cm-content")).to_contain_text("def main")
    await page.select_option("select[name=language]", "c")
    await expect(page.locator(".cm-content")).to_contain_text("#include")
    await page.set_input_files(
        "#open-file", {"name": "a.cpp", "mimeType": "text/plain", "buffer": b"int main() {}"}
    )
    await expect(page.locator(".cm-content")).to_have_text("int main() {}")
    await expect(page.locator("select[name=language]")).to_have_value(re.compile("^cpp"))
    await expect(page.locator("#saved")).to_have_text("Saved")
