"""Statements as HTML: math stays TeX, and nothing that a stranger wrote can run."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deemster.problems.markup import (
    ALONE,
    KEPT,
    html_to_html,
    markdown_to_html,
    text_to_html,
)


def test_math_is_kept_from_markdown() -> None:
    html = markdown_to_html("Let $a_i * b_i$ and $c_i * d_i < 3$ be *given*.")
    assert r'<span class="math inline">\(a_i * b_i\)</span>' in html
    assert r"\(c_i * d_i &lt; 3\)" in html
    assert "<em>given</em>" in html


def test_display_math_is_told_apart() -> None:
    html = markdown_to_html("$$\\sum_{i=1}^n a_i$$")
    assert html == '<p><span class="math display">\\[\\sum_{i=1}^n a_i\\]</span></p>\n'


@pytest.mark.parametrize(
    "text", ["It costs $5 and $6.", r"It costs \$5 and \$6.", "a $ b", "$$"]
)
def test_a_dollar_can_be_a_dollar(text: str) -> None:
    assert "math" not in markdown_to_html(text)


def test_an_escaped_dollar_does_not_end_math() -> None:
    assert r"\(a \$ b\)" in markdown_to_html(r"$a \$ b$")


def test_code_and_tables_are_laid_out() -> None:
    html = markdown_to_html("| a | b |\n|---|---|\n| `x_1` | 2 |\n\n```\n1 < 2\n```\n")
    assert "<td><code>x_1</code></td>" in html
    assert "<pre><code>1 &lt; 2\n</code></pre>" in html


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "<javascript:alert(1)>",
        "![x](https://example.org/pixel.png)",
        '$<img src=x onerror="alert(1)">$',
    ],
)
def test_nothing_in_markdown_can_run_or_call_home(text: str) -> None:
    html = markdown_to_html(text)
    assert not re.search(r"<(script|img|iframe|object)", html)
    assert not re.search(r'(href|src)="(javascript|data):', html)


def test_a_picture_is_told_by_its_words() -> None:
    assert "<em>A bridge &lt;old&gt;</em>" in markdown_to_html("![A bridge <old>](bridge.png)")


def test_html_keeps_its_layout_and_nothing_else() -> None:
    given = (
        '<h2 onclick="x()">In</h2><script>x()</script><p style="x">a &lt; b<br/>c<img src=y>'
    )
    assert html_to_html(given) == "<h2>In</h2><p>a &lt; b<br>c</p>"


def test_html_that_is_not_closed_is_closed() -> None:
    assert html_to_html("<ul><li><b>a</ul>b") == "<ul><li><b>a</b></li></ul>b"


PIECES = (
    *("<p>", "</p>", "<b", "<script>", "</script>", "<style>", "</style>", "<!--", "-->"),
    *("<![CDATA[", "]]>", "<svg/onload=x>", "<a href='x'>", "&lt;script&gt;", '"', ">"),
)


@given(st.lists(st.one_of(st.text(max_size=12), st.sampled_from(PIECES)), max_size=12))
def test_no_html_passes_that_is_not_known(parts: list[str]) -> None:
    written = html_to_html("".join(parts))
    allowed = {f"<{tag}>" for tag in KEPT | ALONE} | {f"</{tag}>" for tag in KEPT}
    assert set(re.findall(r"<[^>]*>?", written)) <= allowed


def test_plain_text_is_shown_as_it_is() -> None:
    assert text_to_html("a <b>\n  c") == "<pre>a &lt;b&gt;\n  c</pre>\n"
    assert text_to_html(" \n") == ""
