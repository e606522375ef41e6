"""Statements as HTML: formulas stay TeX, and no script of an author can run."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deemster.problems.markup import (
    ALLOWED_TAGS,
    clean_html,
    markdown_to_html,
    text_to_html,
)


def test_markdown_is_not_applied_inside_formulas() -> None:
    html = markdown_to_html("Let $a_i * b_i$ and $c_i * d_i < 3$ be *given*.")
    assert r'<span class="math inline">\(a_i * b_i\)</span>' in html
    assert r"\(c_i * d_i &lt; 3\)" in html
    assert "<em>given</em>" in html


def test_display_formulas_have_their_own_class() -> None:
    html = markdown_to_html("$$\\sum_{i=1}^n a_i$$")
    assert html == '<p><span class="math display">\\[\\sum_{i=1}^n a_i\\]</span></p>\n'


@pytest.mark.parametrize(
    "text", ["It costs $5 and $6.", r"It costs \$5 and \$6.", "a $ b", "$$"]
)
def test_a_single_dollar_sign_is_not_a_formula(text: str) -> None:
    assert "math" not in markdown_to_html(text)


def test_an_escaped_dollar_does_not_end_a_formula() -> None:
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
def test_markdown_can_not_run_scripts_or_load_images(text: str) -> None:
    html = markdown_to_html(text)
    assert not re.search(r"<(script|img|iframe|object)", html)
    assert not re.search(r'(href|src)="(javascript|data):', html)


def test_an_image_is_replaced_by_its_description() -> None:
    assert "<em>A bridge &lt;old&gt;</em>" in markdown_to_html("![A bridge <old>](bridge.png)")


def test_html_keeps_its_layout_without_attributes() -> None:
    given = (
        '<h2 onclick="x()">In</h2><script>x()</script><p style="x">a &lt; b<br/>c<img src=y>'
    )
    assert clean_html(given) == "<h2>In</h2><p>a &lt; b<br>c</p>"


@pytest.mark.parametrize(
    ("given", "cleaned"),
    [
        ("<script>alert(1)</script>a", "a"),
        ("<script src=//evil.example/x.js></script>a", "a"),
        ("<scr<script>ipt>alert(1)</script>a", "ipt&gt;alert(1)a"),
        ("<p onclick=alert(1) onmouseover='alert(2)'>a</p>", "<p>a</p>"),
        ("<body onload=alert(1)><p>a</p></body>", "<p>a</p>"),
        ("<svg/onload=alert(1)>a", "a"),
        ("<a href='javascript:alert(1)'>a</a>", "a"),
        ("<a href=' &#106;avascript:alert(1)'>a</a>", "a"),
        ("<form action='javascript:alert(1)'><input name=x>a</form>", "a"),
        ("<style>p { background: url(//evil.example) }</style>a", "a"),
        ("<p style='background: url(//evil.example)' class=x id=y>a</p>", "<p>a</p>"),
        ("<link rel=stylesheet href=//evil.example/x.css>a", "a"),
        ("<iframe src=//evil.example>b</iframe>a", "a"),
        ("<iframe srcdoc='<script>alert(1)</script>'></iframe>a", "a"),
        ("<object data=//evil.example><embed src=//evil.example></object>a", "a"),
        ("<img src='data:image/svg+xml;base64,PHN2Zz4='>a", "a"),
        ("<img src=//evil.example/pixel.png>a", "a"),
        ("<meta http-equiv=refresh content='0;url=//evil.example'>a", "a"),
        ("<base href=//evil.example>a", "a"),
        ("<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>", ""),
        ("<!--><script>alert(1)</script>-->a", "--&gt;a"),
        ("<title><p>x</p></title>a", "a"),
    ],
)
def test_html_that_can_run_or_load_something_is_removed(given: str, cleaned: str) -> None:
    assert clean_html(given) == cleaned


def test_html_that_is_not_closed_is_closed() -> None:
    assert clean_html("<ul><li><b>a</ul>b") == "<ul><li><b>a</b></li></ul><b>b</b>"


PIECES = (
    *("<p>", "</p>", "<b", "<script>", "</script>", "<style>", "</style>", "<!--", "-->"),
    *("<![CDATA[", "]]>", "<svg/onload=x>", "<a href='x'>", "&lt;script&gt;", '"', ">"),
)


@given(st.lists(st.one_of(st.text(max_size=12), st.sampled_from(PIECES)), max_size=12))
def test_only_allowed_tags_remain(parts: list[str]) -> None:
    written = clean_html("".join(parts))
    allowed = {f"<{slash}{tag}>" for tag in ALLOWED_TAGS for slash in ("", "/")}
    assert set(re.findall(r"<[^>]*>?", written)) <= allowed


def test_plain_text_is_shown_as_it_is() -> None:
    assert text_to_html("a <b>\n  c") == "<pre>a &lt;b&gt;\n  c</pre>\n"
    assert text_to_html(" \n") == ""


@pytest.mark.parametrize(
    ("to_html", "text"), [(markdown_to_html, "![" * 100_000), (clean_html, "<div>" * 100_000)]
)
def test_d3_a_statement_that_would_take_minutes_is_shown_as_text(
    to_html: Callable[[str], str], text: str
) -> None:
    assert to_html(text) == text_to_html(text)
