"""`deemster dlq`: lists dead letters and deals with them (Q7)."""

from dataclasses import asdict
from typing import Annotated, Any

import typer
import uvloop

from deemster.cli.exit_codes import ExitCode
from deemster.cli.options import AsJson, make_group
from deemster.cli.output import as_cell, as_printable, make_table, print_json, table_console
from deemster.cli.progress import for_each
from deemster.domain.errors import NotFound
from deemster.domain.ids import WorkId, kind_of
from deemster.pipeline.verdict import dead_letter_actions
from deemster.settings import load_settings
from deemster.store import dead_letters
from deemster.store.audit import Actor
from deemster.store.dead_letters import DeadLetter
from deemster.store.pool import connection, transaction
from deemster.wiring.resources import open_command_database, operator

PAGE = 1000
Number = Annotated[int, typer.Argument(metavar="NUMBER", help="Number that `dlq list` shows.")]
Numbers = Annotated[
    list[int], typer.Argument(metavar="NUMBER…", help="Numbers that `dlq list` shows.")
]

app = make_group("dlq", "Manage dead letters: jobs that failed in every attempt.")


@app.command("list")
def list_(
    settled: Annotated[
        bool, typer.Option("--all", help="Include those that were requeued or discarded.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the open dead letters, newest first."""
    letters = uvloop.run(read_all(settled))
    if as_json:
        print_json({"letters": [fields_of(letter) for letter in letters]})
        return
    table = make_table("number", "id", "task", "failed", "attempts", "error", "outcome")
    for letter in letters:
        table.add_row(
            str(letter.id),
            letter.work,
            letter.task,
            f"{letter.died_at:%Y-%m-%d %H:%M:%S}",
            str(letter.attempt),
            as_cell(letter.error.partition("\n")[0]),
            letter.outcome or "",
        )
    table_console().print(table if letters else "There are no dead letters.")


@app.command()
def show(number: Number, as_json: AsJson = False) -> None:
    """Show everything that is known about one dead letter."""
    letter = uvloop.run(read_one(number))
    if as_json:
        print_json(fields_of(letter))
        return
    for name, value in fields_of(letter).items():
        if value is not None:
            print(as_printable(f"{name}: {value}"))


@app.command()
def requeue(numbers: Numbers, as_json: AsJson = False) -> None:
    """Judge submissions again that failed, and repeat analyses that failed.

    Each submission is judged as a new one with a new id; the old one stays readable. Executions
    and evaluations can't be requeued: discard them. To get a new evaluation, rejudge the
    submission.
    """
    done, failed = uvloop.run(requeue_all(numbers))
    if as_json:
        print_json({"requeued": done})
    else:
        for number, new in done.items():
            word = "analysed" if kind_of(new) == "analysis" else "judged"
            print(f"{number}: {word} again as {new}")
    if failed:
        raise typer.Exit(ExitCode.UNABLE)


@app.command()
def discard(numbers: Numbers, as_json: AsJson = False) -> None:
    """Close dead letters without another attempt: what failed stays failed."""
    done, failed = uvloop.run(discard_all(numbers))
    if as_json:
        print_json({"discarded": list(done)})
    else:
        for number in done:
            print(f"{number}: discarded")
    if failed:
        raise typer.Exit(ExitCode.UNABLE)


def fields_of(letter: DeadLetter) -> dict[str, Any]:
    """The id is called `submission`, `execution` or `analysis`."""
    fields = asdict(letter)
    work = fields.pop("work")
    return {"id": fields.pop("id"), kind_of(work): work, **fields}


async def read_all(settled: bool) -> list[DeadLetter]:
    found: list[DeadLetter] = []
    async with open_command_database(load_settings()) as pool, connection(pool) as acquired:
        while True:
            before = found[-1].id if found else None
            page = await dead_letters.page(
                acquired, include_resolved=settled, before=before, limit=PAGE
            )
            found += page
            if len(page) < PAGE:
                return found


async def read_one(number: int) -> DeadLetter:
    async with open_command_database(load_settings()) as pool, connection(pool) as acquired:
        letter = await dead_letters.get(acquired, number)
    if letter is None:
        raise NotFound(f"There is no dead letter {number}: see `deemster dlq list --all`.")
    return letter


async def requeue_all(numbers: list[int]) -> tuple[dict[int, WorkId], int]:
    actor = Actor(operator())
    async with open_command_database(load_settings()) as pool:

        async def act(number: int) -> WorkId:
            async with transaction(pool) as writing:
                accepted = await dead_letter_actions.requeue(writing, number, actor=actor)
            return accepted if isinstance(accepted, str) else accepted.id

        return await for_each("Dead letters", numbers, act)


async def discard_all(numbers: list[int]) -> tuple[dict[int, None], int]:
    actor = Actor(operator())
    async with open_command_database(load_settings()) as pool:

        async def act(number: int) -> None:
            async with transaction(pool) as writing:
                await dead_letter_actions.discard(writing, number, actor=actor)

        return await for_each("Dead letters", numbers, act)
