"""Turns statements into HTML that is safe to show; formulas stay TeX in marked elements."""

import html
from typing import Final

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

MARKS: Final = {"$$": ("display", r"\[", r"\]"), "$": ("inline", r"\(", r"\)")}
ALLOWED_TAGS: Final = frozenset(
    {
        *("p", "div", "span", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre"),
        *("ul", "ol", "li", "dl", "dt", "dd", "br", "hr"),
        *("table", "thead", "tbody", "tfoot", "tr", "th", "td", "caption"),
        *("b", "strong", "i", "em", "u", "s", "sub", "sup", "small", "q", "cite"),
        *("code", "tt", "kbd", "samp", "var"),
    }
)
MAX_TAGS: Final = 10_000
"""The parsers need time for the square of nested elements, and of open brackets."""
REMOVED_WITH_CONTENT: Final = frozenset(
    {"script", "style", "template", "noscript", "title", "iframe", "object"}
)


def markdown_to_html(text: str) -> str:
    """Raw HTML in the Markdown is shown as text, and images by their description."""
    return str(PARSER.render(text)) if text.count("[") <= MAX_TAGS else text_to_html(text)


def clean_html(text: str) -> str:
    """Keeps only elements that lay out text, without any attributes."""
    if text.count("<") > MAX_TAGS:
        return text_to_html(text)
    return nh3.clean(
        text,
        tags=set(ALLOWED_TAGS),
        clean_content_tags=set(REMOVED_WITH_CONTENT),
        attributes={"*": set()},
        link_rel=None,
    )


def text_to_html(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>\n" if text.strip() else ""


def make_parser() -> MarkdownIt:
    # This preset shows raw HTML as text and refuses links that can run scripts.
    parser = MarkdownIt("js-default")
    parser.inline.ruler.before("escape", "math", math)
    parser.add_render_rule("math", math_as_html)
    parser.add_render_rule("image", image_as_text)
    return parser


def math(state: StateInline, silent: bool) -> bool:
    """Reads `$a$` and `$$a$$` as TeX, in which no character is Markdown."""
    mark = next((each for each in MARKS if state.src.startswith(each, state.pos)), None)
    if mark is None:
        return False
    start = state.pos + len(mark)
    end = find_closing(state.src, mark, start, state.posMax)
    if end is None:
        return False
    if not silent:
        token = state.push("math", "math", 0)
        token.markup, token.content = mark, state.src[start:end].strip()
    state.pos = end + len(mark)
    return True


def find_closing(text: str, mark: str, start: int, limit: int) -> int | None:
    """The position of the closing mark; None: the opening one is a plain dollar sign."""
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


PARSER: Final = make_parser()
