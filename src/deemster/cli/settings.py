"""`deemster settings`: each setting and where it comes from."""

import json
import sys
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from deemster.settings import load_settings
from deemster.settings.origins import origins, unknown_variables
from deemster.settings.sources import CONFIG_FILE, CONFIG_VARIABLE


def settings(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    found = origins(load_settings())
    if as_json:
        print(json.dumps({"settings": [asdict(each) for each in found]}))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("setting", "value", "source", "what it is"):
        table.add_column(heading, overflow="fold")
    for each in found:
        table.add_row(each.variable, each.value or "none", each.source, each.description)
    Console().print(table)
    for name in unknown_variables():
        print(f"deemster: {name} is no setting, and is ignored.", file=sys.stderr)


settings.__doc__ = f"""Show every setting, its value and its source.

A setting comes from the environment (DEEMSTER_ENV=…), from a file named there
(DEEMSTER_ENV_FILE=/run/secrets/env), or from {CONFIG_FILE} (another with
{CONFIG_VARIABLE}=…), where it is a key in small letters without the prefix (env = "…").
Earlier ones win.
"""
