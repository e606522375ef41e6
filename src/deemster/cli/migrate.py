"""`deemster migrate`: migrates the database's tables to this version."""

from typing import Annotated

import typer
import uvloop

from deemster.settings import load_settings
from deemster.wiring.resources import migrate_database


def migrate(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print which migrations would be applied.")
    ] = False,
) -> None:
    """Migrate the database's tables to this version.

    `deemster up` does it by itself. Migrations can't be undone, and either all are applied or
    none: make a backup first, and stop roles of an older version.
    """
    migrations = uvloop.run(migrate_database(load_settings(), dry_run=dry_run))
    for each in migrations:
        print(f"{'would apply' if dry_run else 'applied'} {each.name}")
    if not migrations:
        print("The database is up to date.")
