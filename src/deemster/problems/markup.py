"""Statements as HTML that is safe to show, whoever wrote them; math stays TeX, marked."""

import html
from html.parser import HTMLParser
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

MARKS: Final = {"$$": ("display", r"\[", r"\]"), "$": ("inline", r"\(", r"\)")}
KEPT: Final = frozenset(
    {
        *("p", "div", "span", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre"),
        *("ul", "ol", "li", "dl", "dt", "dd"),
        *("table", "thead", "tbody", "tfoot", "tr", "th", "td", "caption"),
        *("b", "strong", "i", "em", "u", "s", "sub", "sup", "small", "q", "cite"),
        *("code", "tt", "kbd", "samp", "var"),
    }
)
ALONE: Final = frozenset({"br", "hr"})
DROPPED: Final = frozenset({"head", "script", "style", "template", "noscript", "title"})
"""They go with all that is in them."""


def markdown_to_html(text: str) -> str:
    """Raw HTML in it is shown as text; pictures are told by what is written for them."""
    return str(PARSER.render(text))


def html_to_html(text: str) -> str:
    """Only elements that lay text out, without their attributes."""
    filtering = Filter()
    filtering.feed(text)
    filtering.close()
    return filtering.written()


def text_to_html(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>\n" if text.strip() else ""


def make_parser() -> MarkdownIt:
    # Without raw HTML, which is this preset's default, and with links that can run nothing.
    parser = MarkdownIt("js-default")
    parser.inline.ruler.before("escape", "math", math)
    parser.add_render_rule("math", math_as_html)
    parser.add_render_rule("image", image_as_text)
    return parser


def math(state: StateInline, silent: bool) -> bool:
    """`$a$` and `$$a$$`: what is between is TeX, in which nothing is Markdown."""
    mark = next((each for each in MARKS if state.src.startswith(each, state.pos)), None)
    if mark is None:
        return False
    start = state.pos + len(mark)
    end = closing(state.src, mark, start, state.posMax)
    if end is None:
        return False
    if not silent:
        token = state.push("math", "math", 0)
        token.markup, token.content = mark, state.src[start:end].strip()
    state.pos = end + len(mark)
    return True


def closing(text: str, mark: str, start: int, limit: int) -> int | None:
    """Where the math ends; None: the dollar is one."""
    end = text.find(mark, start, limit)
    while end > 0 and text[end - 1] == "\\":
        end = text.find(mark, end + 1, limit)
    if end <= start or not text[start:end].strip():
        return None
    if mark == "$" and (text[start].isspace() or text[end - 1].isspace()):
        return None
    return end


def math_as_html(
    _: RendererHTML, tokens: list[Token], at: int, __: OptionsDict, ___: EnvType
) -> str:
    kind, before, after = MARKS[tokens[at].markup]
    inside = html.escape(tokens[at].content, quote=False)
    return f'<span class="math {kind}">{before}{inside}{after}</span>'


def image_as_text(
    renderer: RendererHTML, tokens: list[Token], at: int, options: OptionsDict, env: EnvType
) -> str:
    inside = renderer.renderInlineAsText(tokens[at].children, options, env)
    return f"<em>{html.escape(inside, quote=False)}</em>" if inside else ""


class Filter(HTMLParser):
    """Writes the document anew, so that nothing passes that isn't known."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._out: list[str] = []
        self._open: list[str] = []
        self._inside: list[str] = []
        """Elements that are dropped, not yet closed."""

    def written(self) -> str:
        return "".join(self._out) + "".join(f"</{tag}>" for tag in reversed(self._open))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in DROPPED:
            self._inside.append(tag)
        elif not self._inside and tag in KEPT | ALONE:
            self._out.append(f"<{tag}>")
            if tag in KEPT:
                self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._inside:
            if tag == self._inside[-1]:
                self._inside.pop()
        elif tag in self._open:
            while (last := self._open.pop()) != tag:
                self._out.append(f"</{last}>")
            self._out.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if not self._inside:
            self._out.append(html.escape(data, quote=False))


PARSER: Final = make_parser()
