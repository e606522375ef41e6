"""`deemster problem import`: puts packages into the service."""

import sys
from pathlib import Path
from typing import Annotated

import typer
import uvloop

from deemster.cli.progress import Progress
from deemster.domain.errors import Refused
from deemster.domain.ids import parse_problem_id
from deemster.domain.limits import MIB
from deemster.settings import load_settings
from deemster.wiring.importing import Outcome, import_all

EXIT_OURS = 2


def import_(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH…", help="Packages: directories, .zip, .kpp or .tar files."
        ),
    ],
    problem_id: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="ID",
            help="Its id, such as prob_sum; by default from the package's name.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Put problems into the service, where they can be solved at once.

    A problem that is there already gets a new revision: submissions that come from now on are
    judged by it. A package without a time limit gets one from its own accepted submissions.
    For example:

        deemster problem import samples/aplusb
        deemster problem import hello.zip --id prob_hello
    """
    if problem_id is not None and len(paths) > 1:
        raise Refused("One id is for one problem: leave --id out, or import one at a time.")
    named = parse_problem_id(problem_id) if problem_id is not None else None
    with Progress() as progress:
        done = uvloop.run(import_all(load_settings(), paths, named, progress))
    for each in done:
        tell(each)
    if any(each.error for each in done):
        raise typer.Exit(EXIT_OURS)


def tell(outcome: Outcome) -> None:
    imported = outcome.imported
    if imported is None:
        print(f"deemster: {outcome.path}: {outcome.error}", file=sys.stderr)
        return
    sheet = imported.sheet
    what = f"revision {sheet.number}" if imported.is_new else "as it was"
    print(
        f"{sheet.id}: {what}, {sheet.title!r}, {sheet.time_ms / 1000:g} s, "
        f"{sheet.memory_bytes // MIB} MB, {sheet.cases} cases"
    )
