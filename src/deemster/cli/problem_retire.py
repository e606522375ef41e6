"""`deemster problem retire`: takes problems out of the service."""

from typing import Annotated

import typer
import uvloop

from deemster.cli.for_each import for_each
from deemster.domain.ids import ProblemId, parse_problem_id
from deemster.settings import load_settings
from deemster.store.audit import Actor
from deemster.wiring.importing import open_importer
from deemster.wiring.resources import open_command_database, operator

EXIT_OURS = 2


def retire(
    ids: Annotated[
        list[str], typer.Argument(metavar="ID…", help="As `problem list` shows them.")
    ],
) -> None:
    """Take problems off the list: nobody can solve them, and what was handed in stays readable.

    Importing one again brings it back. For example:

        deemster problem retire prob_sum
    """
    done, failed = uvloop.run(retire_all([parse_problem_id(each) for each in ids]))
    for problem, was_there in done.items():
        print(f"{problem}: {'retired' if was_there else 'was retired before'}")
    if failed:
        raise typer.Exit(EXIT_OURS)


async def retire_all(ids: list[ProblemId]) -> tuple[dict[ProblemId, bool], int]:
    settings, actor = load_settings(), Actor(operator())
    async with open_command_database(settings) as pool:
        importer = open_importer(settings, pool)
        return await for_each(
            ids, lambda problem: importer.retire(problem, actor, only_own=False)
        )
