"""Reads the names, the statements and the authors of a Polygon package."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from deemster.domain.limits import MIB
from deemster.domain.problem import Statement
from deemster.problems.formats.polygon.document import Node, path_of
from deemster.problems.formats.polygon.languages import language_code

KINDS: dict[str, Literal["md", "tex", "pdf", "html", "txt"]] = {
    "application/x-tex": "tex",
    "text/html": "html",
    "application/pdf": "pdf",
    "text/markdown": "md",
    "text/plain": "txt",
}
PROPERTIES = "problem-properties.json"
MAX_PROPERTIES_BYTES = 4 * MIB


def read_names(root: Path, document: Node) -> dict[str, str]:
    names = {
        language_code(node.need("language")): node.get("value")
        for node in document.children("names/name")
        if node.get("value")
    }
    return names or {"en": document.get("short-name") or root.name}


def read_statements(root: Path, document: Node, names: dict[str, str]) -> Iterator[Statement]:
    """The statements that exist: a standard package has no PDF."""
    first = next(iter(names.values()))
    for node in document.children("statements/statement"):
        kind = KINDS.get(node.get("type").lower())
        code = language_code(node.need("language"))
        path = path_of(node)
        if kind is not None and (root / path).is_file():
            title = names.get(code, first)
            yield Statement(code, kind, path, title)


def read_authors(root: Path) -> str:
    """The authors in the property files of the statements."""
    found: list[str] = []
    for path in sorted((root / "statements").glob(f"*/{PROPERTIES}")):
        if path.stat().st_size > MAX_PROPERTIES_BYTES:
            continue
        try:
            values = json.loads(path.read_bytes())
        except (ValueError, RecursionError):
            continue
        author = values.get("authorName") if isinstance(values, dict) else None
        if isinstance(author, str) and author and author not in found:
            found.append(author)
    return ", ".join(found)
