"""W1: formulas of a statement become MathML, whatever their author wrote in them."""

import html
import re
from xml.etree.ElementTree import fromstring

import pytest

from deemster.problems.markup import markdown_to_html
from deemster.web.math import FORMULA_CHARS, STATEMENT_CHARS, with_mathml

MAKES_AN_ADMIN = (
    r'<div/hx-post="/admin/users"/hx-trigger="load"/hx-include="[name=csrf_token]"/'
    r"""hx-vals='{"name":"eve","role":"admin"}'>"""
)
"""The scripts of every page would send this form for an admin who opens the problem."""


@pytest.mark.parametrize(
    "tex",
    [
        rf"\text{{{MAKES_AN_ADMIN}}}",
        r"\mbox{</math><form action=/logout method=post>}",
        r"\text{&lt;img src=x&gt;}",
        r"\textcolor{<b>}{x}",
        r"\color{red\" onclick=\"x}{y}",
        r"\unicode{x3c}script\unicode{x3e}",
        r"\href{javascript:alert(1)}{x}",
        r"\style{position:fixed;inset:0}{x}",
        r"\class{card}{x}",
    ],
)
def test_w1_a_formula_cannot_hold_html_links_or_styles(tex: str) -> None:
    page = with_mathml(markdown_to_html(f"${tex}$"))
    [formula] = re.findall(r"<math.*</math>|<code.*</code>", page, re.DOTALL)
    for element in fromstring(formula).iter():
        assert element.tag.rpartition("}")[2] in {"code", "math", *MATHML}, page
        assert not {"href", "style", "id", "onclick"} & set(element.attrib), page


MATHML = {"mrow", "mi", "mo", "mn", "mtext", "mstyle", "msubsup", "msup"}


def test_w1_characters_that_have_names_are_shown() -> None:
    shown = with_mathml(markdown_to_html(r"$\argmax_x \sum a \le b \text{ if } c<d$"))
    for text in ("arg\u2009max", "∑", "≤", "\u00a0if\u00a0", "&lt;"):
        assert text in shown
    assert "&amp;" not in shown


@pytest.mark.parametrize("tex", [r"\newcommand{\R}{\mathbb{R}} \R", r"x \in \R", r"x^2_"])
def test_w1_a_formula_that_cannot_be_converted_is_left_to_the_script(tex: str) -> None:
    for mark, shown_as in (("$", ""), ("$$", " data-display")):
        shown = with_mathml(markdown_to_html(f"{mark}{tex}{mark}"))
        assert f'<code class="tex"{shown_as}>{html.escape(tex)}</code>' in shown


@pytest.mark.parametrize(
    "tex", [r"\text{" * FORMULA_CHARS, r"\def\a{" + "x" * 900 + "}" + r"\a" * 90]
)
def test_d3_a_formula_that_takes_long_to_convert_stays_tex(tex: str) -> None:
    shown = with_mathml(markdown_to_html(f"${tex}$"))
    assert f'<code class="tex">{html.escape(tex)}</code>' in shown
    assert "<math" not in shown


def test_d3_only_the_first_formulas_of_a_huge_statement_are_converted() -> None:
    formula = "x" * (FORMULA_CHARS // 2)
    shown = with_mathml(markdown_to_html(f"${formula}$ " * 100))
    assert shown.count("<math") == STATEMENT_CHARS // len(formula)
    assert shown.count('<code class="tex">') == 100 - STATEMENT_CHARS // len(formula)
