"""TeX becomes Markdown, and no input raises an error."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deemster.problems.formats.tex.convert import plain_tex, tex_argument, tex_to_markdown


@pytest.mark.parametrize(
    ("tex", "markdown"),
    [
        ("plain text", "plain text"),
        ("a % comment\nb 50\\% c", "a b 50% c"),
        ("one\n\n\n\ntwo", "one\n\ntwo"),
        (
            "$a_1 \\le \\{b\\}$ and $$x = \\frac{1}{2}$$",
            "$a_1 \\le \\{b\\}$ and $$x = \\frac{1}{2}$$",
        ),
        ("costs \\$5 and $5\\$$", "costs $5 and $5\\$$"),
        ("\\(x\\) and \\[y\\]", "$x$ and $$y$$"),
        ("a dollar $ alone", "a dollar $ alone"),
        (
            "\\emph{a} \\textbf{b} \\texttt{c} {\\bf d} {\\it e} {\\tt f}",
            "*a* **b** `c` **d** *e* `f`",
        ),
        ("\\textbf{a \\emph{b} c}", "**a *b* c**"),
        ("``quoted'' -- and --- `x'", "“quoted” \u2013 and — \u2018x'"),
        ("a~b\\,c\\ldots d\\\\e", "a b c…d\ne"),
        ("\\'e \\\"{o} \\c{c} \\~n \\aa \\o \\ss{} \\v{s} \\'{\\i}", "é ö ç ñ åøß š í"),
        ("\\& \\_ \\# \\{ \\} \\textbackslash", "& _ # { } \\"),
        ("\\section*{Input}\nText", "## Input\n\n\nText".replace("\n\n\n", "\n\n")),
        ("\\subsection{A \\emph{b}}", "### A *b*"),
        ("\\begin{Input}\nOne line.\n\\end{Input}", "## Input\n\nOne line."),
        (
            "\\begin{itemize}\n\\item a\n\\item b $x$\n\\end{itemize}",
            "- a\n- b $x$",
        ),
        (
            r"\begin{enumerate}\item a\begin{itemize}\item x\end{itemize}\item\end{enumerate}",
            "1. a\n  - x\n1.",
        ),
        ("\\begin{description}\\item[Key] value\\end{description}", "- **Key** value"),
        (
            "\\begin{verbatim}\n% kept $x$ \\emph{y}\n\\end{verbatim}",
            "```\n% kept $x$ \\emph{y}\n```",
        ),
        ("\\verb|a $b$| and \\lstinline{c_d}", "`a $b$` and `c_d`"),
        (
            "\\begin{tabular}{|l|r|}\\hline\na & b \\\\\n\\hline\nc & $d$ \\\\\n\\end{tabular}",
            "| a | b |\n| --- | --- |\n| c | $d$ |",
        ),
        (
            "\\begin{tabular}{l}\\texttt{\\&} \\& | &\n  b\\\\ c\\end{tabular}",
            "| `&` & \\| | b |\n| --- | --- |\n| c |  |",
        ),
        ("\\href{http://x/a\\_b\\#c}{t}", "[t](http://x/a_b#c)"),
        ("\\^{} \\parbox{3cm}{in}\n    side", "^ in\nside"),
        ("\\begin{equation*}x\\end{equation*}", "$$x$$"),
        ("\\begin{align}a &= b\\end{align}", "$$\\begin{align}a &= b\\end{align}$$"),
        ("\\includegraphics[width=3cm]{a.png}", "![](a.png)"),
        ("\\illustration{0.3}{a.png}{A \\emph{nice} one}", "![A *nice* one](a.png)"),
        (
            "\\url{http://x.example/a_b} \\href{http://y}{the \\emph{y}}",
            "<http://x.example/a_b> [the *y*](http://y)",
        ),
        ("a\\footnote{b c}", "a (b c)"),
        ("\\problemname{Sum}\\label{x}\\vspace{3mm}text", "text"),
        ("\\begin{wrapfigure}{r}{0.3\\textwidth}inside\\end{wrapfigure}", "inside"),
        ("\\begin{figure}[h]\\centering inside\\end{figure}", "inside"),
        ("\\begin{comment}gone\\end{comment}left", "left"),
        ("\\unknown[opt]{kept} text", "kept text"),
        ("\\newcommand{\\maxn}{10^5}$n \\le \\maxn$", "$n \\le 10^5$"),
        ("\\newcommand{\\pair}[2]{(#1, #2)}\\pair{a}{b}", "(a, b)"),
        ("\\def\\k{12}\\k{} or $\\k$", "12 or $12$"),
        ("\\nextsample\\remainingsamples", ""),
        ("{{{deep}}}", "deep"),
        ("\\begin{itemize} lost", "lost"),
        ("\\end{itemize} \\begin{a}x\\end{b}", "x"),
        ("unclosed {brace", "unclosed brace"),
        ("trailing \\", "trailing"),
    ],
)
def test_tex_becomes_markdown(tex: str, markdown: str) -> None:
    assert tex_to_markdown(tex, {}) == markdown


def test_macros_that_expand_too_far_are_not_expanded() -> None:
    names = "abcdefghijklmnop"
    lines = [r"\newcommand{\a}{xxxxxxxxxx}"]
    for one, other in pairwise(names):
        lines.append(f"\\newcommand{{\\{other}}}{{" + f"\\{one}" * 10 + "}")
    text = tex_to_markdown("".join(lines) + r"\p", {})
    assert len(text) < 1_000_000


def test_an_argument_is_found_with_its_inner_braces() -> None:
    assert tex_argument("x \\problemname{a {b} c} d", "problemname") == "a {b} c"
    assert tex_argument("x \\problemname{a", "problemname") is None
    assert tex_argument("x", "problemname") is None


def test_plain_text_has_no_formatting() -> None:
    assert plain_tex("\\emph{A}  `b' $c_1$") == "A \u2018b' c_1"


@pytest.mark.parametrize(
    "piece",
    [
        *("{", "}", "\\[", "\\(", "$", "$$", "\\begin{itemize}", "\\end{itemize}", "\\item "),
        *("\\begin{a}", "\\emph", "\\emph{", "\\verb|", "\\verb", "[", "\\x[", "\\'", "%"),
        *("\\begin{verbatim}", "\\newcommand{\\a}{\\a\\a}\\a", "\\def\\a{b", "`", "\\"),
    ],
)
def test_conversion_takes_linear_time(piece: str) -> None:
    text = piece * (60_000 // len(piece))
    assert len(tex_to_markdown(text, {})) <= 10 * len(text)


PIECES = st.sampled_from(
    [
        *(
            "{",
            "}",
            "[",
            "]",
            "$",
            "$$",
            "\\[",
            "\\]",
            "\\(",
            "\\)",
            "%",
            "\n",
            " ",
            "&",
            "\\\\",
        ),
        *("\\begin{itemize}", "\\end{itemize}", "\\item", "\\begin{tabular}{l}", "\\verb|"),
        *("\\end{tabular}", "\\begin{verbatim}", "\\end{verbatim}", "\\emph", "\\emph{", "\\'"),
        *("\\url{", "\\href{", "\\illustration{", "\\constant{n}", "\\newcommand{\\q}[1]{"),
        *("#1", "\\q", "\\section*{", "\\def\\z{", "\\z", "~", "`", "--", "\\footnote{", "|"),
        *("\\begin{align}", "\\end{align}", "é", '\\"', "\\includegraphics", "x y"),
    ]
)


@settings(deadline=None, max_examples=300)
@given(st.lists(st.one_of(PIECES, st.text(max_size=5)), max_size=60))
def test_any_text_can_be_converted(parts: list[str]) -> None:
    written = tex_to_markdown("".join(parts), {"n": "5"})
    assert written == written.strip()
