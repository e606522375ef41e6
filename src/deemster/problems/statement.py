"""The statement of a problem as text that can be read and shown."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from deemster.problems.constants import fill_constants
from deemster.problems.formats.tex.convert import tex_to_markdown

MAX_BYTES = 256 * 1024


def statement_text(
    path: Path, kind: Literal["md", "tex", "pdf", "html", "txt"], constants: Mapping[str, str]
) -> str:
    """Markdown, with math between dollars; TeX becomes that, a PDF has no text here."""
    if kind == "pdf":
        return ""
    with path.open("rb") as stream:
        text = stream.read(MAX_BYTES).decode("utf-8-sig", errors="replace")
    text = text.replace("\r\n", "\n")
    if kind == "tex":
        return tex_to_markdown(text, constants)
    return fill_constants(text, constants) if kind == "md" else text
