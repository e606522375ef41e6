"""People solve problems with the pages in a real browser (W1, W4, W5)."""

import re
from functools import partial

from playwright.async_api import Page, Route, expect

from tests.api.browser import PASSWORD
from tests.waiting import until
from tests.web.live.conftest import Enter

PROBLEM = "/problems/prob_aplusb"
RIGHT = "print(sum(map(int, input().split())))"
SLOW = f"import time\n{RIGHT}\ntime.sleep(0.5)"
WRONG = "import sys\nprint('seen', file=sys.stderr)\nprint(1)\nprint(2)"
PASTE = """(editor, text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  const options = { clipboardData, bubbles: true, cancelable: true };
  editor.dispatchEvent(new ClipboardEvent("paste", options));
}"""
TOPS = """selector => [...document.querySelectorAll(selector)].map(
  each => each.getBoundingClientRect().top)"""
DROP = """(form, [name, content]) => {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([content], name));
  const options = { dataTransfer, bubbles: true, cancelable: true };
  form.dispatchEvent(new DragEvent("drop", options));
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
    permissions = ["clipboard-read", "clipboard-write"]
    page = await enter("ada", PROBLEM, on_page=True, permissions=permissions)
    sample = page.locator(".sample pre").first
    await page.locator(".sample .copy").first.click()
    await expect(page.get_by_text("Copied")).to_be_visible()
    assert await page.evaluate("navigator.clipboard.readText()") == await sample.inner_text()

    await write(page, SLOW)
    await page.click("#submit")
    await page.wait_for_url("**/submissions/sub_*")
    await page.evaluate("window.isSamePage = true")
    running = page.locator("#submission[data-status=running]")
    await expect(running.locator(".case.good .cost").first).to_contain_text("ms")
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
    await expect(page.locator("#stdin")).to_be_in_viewport(ratio=1)
    await write(page, ASKS)
    await page.fill("#stdin", "Ada\n")
    await page.click("#run-input")
    await expect(page.locator("#output pre")).to_have_text("Who? Hello Ada\n")
    await expect(page.locator("#run-state")).to_contain_text("MB")

    await page.get_by_role("button", name="Run on sample 1").click()
    await expect(page.locator("#output pre")).to_have_text("Who? Hello 3 5\n")
    await expect(page.locator("#expected pre")).to_have_text("8\n")
    await expect(page.locator("#run-state")).to_contain_text("differs from the sample")
    await replace_source(page, RIGHT)
    await page.get_by_role("button", name="Run on sample 2").click()
    await expect(page.locator("#run-state")).to_contain_text("is that of the sample")
    await replace_source(page, ASKS)

    await page.click("#run-terminal")
    rows = page.locator("#terminal .xterm-rows")
    await expect(rows).to_contain_text("Who?")
    await page.locator("#terminal .xterm-helper-textarea").press_sequentially("Grace\n")
    await expect(rows).to_contain_text("Hello Grace")
    await expect(page.locator("#stop")).to_be_hidden()

    await replace_source(page, "pass")
    await page.click("#run-input")
    await expect(page.locator("#output pre")).to_have_text("no output")


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


async def test_w4_line_numbers_stand_at_their_lines_on_a_phone(enter: Enter) -> None:
    page = await enter("karen", PROBLEM, viewport={"width": 390, "height": 844})
    await write(page, "\n".join(f"print({number})" for number in range(30)))
    await page.locator("#submit").scroll_into_view_if_needed()
    assert await until(partial(numbers_stand_at_lines, page))


async def numbers_stand_at_lines(page: Page) -> bool:
    lines = await page.evaluate(TOPS, ".cm-line")
    numbers = await page.evaluate(TOPS, ".cm-lineNumbers .cm-gutterElement")
    # The first element of the gutter is hidden and only gives it its width.
    pairs = zip(lines, numbers[1:], strict=False)
    return len(lines) > 10 and all(abs(line - number) < 2 for line, number in pairs)


async def test_w5_a_log_out_saves_and_leaves_nothing_in_the_browser(enter: Enter) -> None:
    page = await enter("annie", PROBLEM, on_page=True)
    await write(page, "print('first')")
    await expect(page.locator("#saved")).to_have_text("Saved")
    await replace_source(page, "print('typed at the end')")
    await page.click("form[action='/logout'] button")
    await page.wait_for_url("**/login")
    assert await page.evaluate("Object.keys(localStorage)") == []
    await page.fill("[name=name]", "annie")
    await page.fill("[name=password]", PASSWORD)
    await page.click("main button")
    await page.wait_for_url("**/problems")
    await page.goto(PROBLEM)
    await expect(page.locator(".cm-content")).to_have_text("print('typed at the end')")


async def test_w4_a_problem_is_solved_without_scripts(enter: Enter) -> None:
    """Search, reading, submitting, the verdict, a comparison and its explanation."""
    page = await enter("radia", on_page=True, java_script_enabled=False)
    await page.fill("[name=q]", "plus")
    await page.click(".filters button")
    assert "q=plus" in page.url
    await page.click("text=A plus B")
    for source in (WRONG, RIGHT):
        await page.goto(PROBLEM)
        await page.select_option("#solution [name=language]", "python3")
        await page.fill("#source", source)
        await page.click("#submit")
        await page.wait_for_url("**/submissions/sub_*")
        await expect(page.locator(".result a.verdict")).to_be_visible()
    await expect(page.locator(".result .verdict")).to_contain_text("Accepted")
    await expect(page.locator(".case.good").first).to_be_visible()
    await page.click("text=Compare with my submission before")
    await expect(page.locator(".difference .added").first).to_be_visible()
    await page.locator("a.verdict").first.click()
    await expect(page.locator("h1")).to_contain_text("Wrong Answer")


async def test_w1_the_list_follows_what_is_typed(enter: Enter) -> None:
    page = await enter("sophie")
    rows = page.locator("#results tbody tr")
    problems = await rows.count()
    assert problems >= 10
    await page.keyboard.press("/")
    await page.keyboard.type("plus")
    await expect(rows).to_have_count(1)
    await page.wait_for_url("**/problems?q=plus&sort=title")
    await page.select_option("[name=difficulty]", "hard")
    await expect(page.get_by_text("No problem matches your search.")).to_be_visible()
    await page.click("text=Show all problems")
    await expect(rows).to_have_count(problems)


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


async def test_w5_a_submission_that_could_not_be_sent_arrives_once(enter: Enter) -> None:
    """Also if its page is left before the connection is back."""
    page = await enter("mary", PROBLEM)
    await write(page, RIGHT)
    await page.context.set_offline(True)
    await page.click("#submit")
    await expect(page.locator("#sending")).to_contain_text("sent again")
    await page.context.set_offline(False)
    await page.wait_for_url("**/submissions/sub_*")

    await page.goto(PROBLEM)
    await write(page, WRONG)
    await page.route("**/v1/submissions", lambda route: route.abort())
    await page.click("#submit")
    await expect(page.locator("#sending")).to_contain_text("sent again")
    await page.goto("/problems")
    await page.unroute_all()
    await page.goto(PROBLEM)
    await page.wait_for_url("**/submissions/sub_*")
    await expect(page.locator("pre.numbered")).to_contain_text("print('seen', file=sys.stderr)")
    await page.goto("/submissions")
    await expect(page.locator("tbody tr")).to_have_count(2)


async def test_w5_a_browser_whose_storage_is_full_still_saves_and_submits(enter: Enter) -> None:
    page = await enter("ruth", own=True)
    await page.context.add_init_script(
        "Storage.prototype.setItem = () => { throw new DOMException('full'); }"
    )
    await page.goto(PROBLEM)
    await write(page, RIGHT)
    await expect(page.locator("#saved")).to_have_text("Saved")
    await page.click("#submit")
    await page.wait_for_url("**/submissions/sub_*")


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
    await page.locator("#solution").evaluate(DROP, ["dropped.py", "print('dropped')"])
    await expect(page.locator(".cm-content")).to_have_text("print('dropped')")
    await expect(page.locator("select[name=language]")).to_have_value("python3")
    await expect(page.locator("#saved")).to_have_text("Saved")
    await page.select_option("select[name=language]", "java")
    await page.goto("/problems/prob_lighthouse")
    await expect(page.locator("select[name=language]")).to_have_value("java")
    await expect(page.locator(".cm-content")).to_contain_text("class")
