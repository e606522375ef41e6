"""Renders the formulas of a statement as MathML, which browsers show without a script."""

import html
import re
from functools import lru_cache
from types import MappingProxyType
from typing import Final
from xml.etree.ElementTree import Element, tostring

from latex2mathml.converter import Converter

FORMULA: Final = re.compile(
    r'<span class="math (inline|display)">\\[(\[](.*?)\\[)\]]</span>', re.DOTALL
)
"""As `problems.markup` writes them."""
KEPT_STATEMENTS: Final = 500
FORMULA_CHARS: Final = 2_000
STATEMENT_CHARS: Final = 30_000
"""Most characters of TeX that are converted: no other request is answered meanwhile."""
NO_MACROS: Final = MappingProxyType[str, tuple[list[str], int]]({})
"""A formula that defines macros raises an error: short macros can stand for very long text."""
COMMAND: Final = re.compile(r"\\[A-Za-z]+")
"""The converter writes a command that it does not know as if it were a name."""
UNSAFE_ATTRIBUTES: Final = frozenset({"href", "style", "class", "id"})
r"""What \href, \style, \class and \cssId write: a formula must not link or look like a page."""


@lru_cache(KEPT_STATEMENTS)
def with_mathml(statement: str) -> str:
    """A formula that can't be converted stays as its TeX source, which people can read, and
    which a script of the page tries to show (`islands/formulas.ts`).
    """
    left = STATEMENT_CHARS

    def replace(found: re.Match[str]) -> str:
        nonlocal left
        kind, tex = found[1], html.unescape(found[2])
        left -= len(tex)
        is_short = len(tex) <= FORMULA_CHARS and left >= 0
        is_display = kind == "display"
        made = to_mathml(tex, "block" if is_display else "inline") if is_short else None
        shown_as = " data-display" if is_display else ""
        return made or f'<code class="tex"{shown_as}>{html.escape(tex)}</code>'

    return FORMULA.sub(replace, statement)


def to_mathml(tex: str, display: str) -> str | None:
    converter = Converter(display=display)
    converter.macros = NO_MACROS  # type: ignore[assignment]
    try:
        made = converter.convert_to_element(tex)
    # Its parser raises errors of many kinds, KeyError and IndexError among them.
    except Exception:  # noqa: BLE001
        return None
    for element in made.iter():
        if COMMAND.fullmatch(element.text or ""):
            return None
        make_safe(element)
    return tostring(made, encoding="unicode")


def make_safe(element: Element) -> None:
    """The converter writes some characters as references, which become text here: its own
    `convert` would leave `<` and `>` of a text as they are, and so make HTML of it.
    """
    element.text = html.unescape(element.text) if element.text else element.text
    element.tail = html.unescape(element.tail) if element.tail else element.tail
    element.attrib = {
        name: html.unescape(value)
        for name, value in element.attrib.items()
        if name not in UNSAFE_ATTRIBUTES
    }
