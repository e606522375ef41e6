"""`deemster problem list`: the problems of the service."""

import json
from dataclasses import asdict
from typing import Annotated

import typer
import uvloop
from rich.console import Console
from rich.table import Table

from deemster.domain.limits import MIB
from deemster.settings import load_settings
from deemster.store.pool import connection
from deemster.store.problems import ProblemListItem, page
from deemster.wiring.resources import open_command_database

PAGE = 500


def list_(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """List the problems of the service."""
    lines = uvloop.run(all_lines())
    if as_json:
        print(json.dumps({"problems": [asdict(line) for line in lines]}))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("id", "title", "time", "memory", "cases", "revision", "accepted"):
        table.add_column(heading)
    for line in lines:
        table.add_row(
            line.id,
            line.title,
            f"{line.time_ms / 1000:g} s",
            f"{line.memory_bytes // MIB} MB",
            str(line.cases),
            str(line.number),
            f"{line.accepted} of {line.submits}",
        )
    Console().print(table)


async def all_lines() -> list[ProblemListItem]:
    lines: list[ProblemListItem] = []
    async with open_command_database(load_settings()) as pool, connection(pool) as acquired:
        while True:
            after = lines[-1].id if lines else None
            more = await page(acquired, after=after, limit=PAGE)
            lines += more
            if len(more) < PAGE:
                return lines
