"""Renders the formulas of a statement as MathML, which browsers show without a script."""

import html
import re
from functools import lru_cache
from typing import Final

from latex2mathml.converter import convert

FORMULA: Final = re.compile(
    r'<span class="math (inline|display)">\\[(\[](.*?)\\[)\]]</span>', re.DOTALL
)
"""As `problems.markup` writes them."""
KEPT_STATEMENTS: Final = 500


@lru_cache(KEPT_STATEMENTS)
def with_mathml(statement: str) -> str:
    """A formula that can't be converted stays as its TeX source, which people can read."""
    return FORMULA.sub(to_mathml, statement)


def to_mathml(found: re.Match[str]) -> str:
    kind, tex = found[1], html.unescape(found[2])
    try:
        return convert(tex, display="block" if kind == "display" else "inline")
    # Its parser raises errors of many kinds, KeyError and IndexError among them.
    except Exception:  # noqa: BLE001
        return f'<code class="tex">{html.escape(tex)}</code>'
