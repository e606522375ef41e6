"""`deemster migrate`: brings the database to the form that this version needs."""

from typing import Annotated

import typer
import uvloop

from deemster.settings import load_settings
from deemster.store.migrations import migrate as bring_forward
from deemster.wiring.resources import database_url


def migrate(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be done.")
    ] = False,
) -> None:
    """Bring the database's tables to the form that this version needs.

    `deemster up` does it by itself. Forward only, all or nothing: make a backup before. Stop
    roles of an older version first.
    """
    url = database_url(load_settings())
    missing = uvloop.run(bring_forward(url, dry_run=dry_run))
    for each in missing:
        print(f"{'would apply' if dry_run else 'applied'} {each.name}")
    if not missing:
        print("The database is up to date.")
