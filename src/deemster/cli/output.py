"""Prints JSON, tables and errors in the same form for all commands."""

import json
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # all commands import this module, and few print tables
    from rich.console import Console
    from rich.table import Table

WIDEST = 10_000


def print_json(values: object) -> None:
    print(json.dumps(values, default=str))


def print_error(message: object) -> None:
    print(f"deemster: {message}", file=sys.stderr)


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
