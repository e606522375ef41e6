"""Prints JSON, tables and errors in the same form for all commands."""

import json
import re
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:  # all commands import this module, and few print tables
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

WIDEST = 10_000
CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters that move the cursor, begin commands of the terminal, or turn the direction."""


def print_json(values: object) -> None:
    print(json.dumps(values, default=str))


def print_error(message: object) -> None:
    print(f"deemster: {as_printable(str(message))}", file=sys.stderr)


def as_printable(text: str) -> str:
    """Texts of strangers must not control the terminal, or hide a part of themselves."""
    return CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def as_cell(text: str) -> "Text":
    """The same for a cell of a table, in which brackets would be styles."""
    from rich.text import Text

    return Text(as_printable(text))


def table_console() -> "Console":
    """Wraps tables only on a terminal: elsewhere each row is one line, for other programs."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=WIDEST)


def make_table(*headings: str, numbers: tuple[str, ...] = ()) -> "Table":
    """Columns of numbers follow the others, and are aligned to the right."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", caption_justify="left")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    return table
