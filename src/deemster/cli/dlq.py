"""`deemster dlq`: dead letters, which no attempt could judge (Q7)."""

import json
from dataclasses import asdict
from typing import Annotated

import typer
import uvloop
from rich.console import Console
from rich.table import Table

from deemster.cli.for_each import for_each
from deemster.domain.errors import NotFound
from deemster.domain.ids import SubmissionId
from deemster.pipeline.verdict import dead_letter_actions
from deemster.settings import load_settings
from deemster.store import dead_letters
from deemster.store.audit import Actor
from deemster.store.dead_letters import DeadLetter
from deemster.store.pool import connection
from deemster.wiring.resources import open_command_database, operator

EXIT_OURS = 2
AT_ONCE = 1000
Number = Annotated[int, typer.Argument(metavar="NUMBER", help="As `dlq list` shows it.")]
Numbers = Annotated[
    list[int], typer.Argument(metavar="NUMBER…", help="As `dlq list` shows them.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

app = typer.Typer(
    name="dlq",
    help="Dead letters: submissions that the judge itself failed at, again and again.",
    no_args_is_help=True,
    add_completion=False,
)


@app.command("list")
def list_(
    settled: Annotated[
        bool, typer.Option("--all", help="Also those that were dealt with.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the dead letters that nobody has dealt with, newest first."""
    letters = uvloop.run(read_all(settled))
    if as_json:
        print(as_text({"letters": [asdict(letter) for letter in letters]}))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("number", "submission", "died", "attempts", "error", ""):
        table.add_column(heading, overflow="fold")
    for letter in letters:
        table.add_row(
            str(letter.id),
            letter.submission,
            f"{letter.died_at:%Y-%m-%d %H:%M:%S}",
            str(letter.attempt),
            letter.error.partition("\n")[0],
            letter.outcome or "",
        )
    Console().print(table if letters else "There are no dead letters.")


@app.command()
def show(number: Number, as_json: AsJson = False) -> None:
    """Show all that is known of one dead letter."""
    letter = uvloop.run(read_one(number))
    if as_json:
        print(as_text(asdict(letter)))
        return
    for name, value in asdict(letter).items():
        if value is not None:
            print(f"{name}: {value}")


@app.command()
def requeue(numbers: Numbers, as_json: AsJson = False) -> None:
    """Judge again: a new submission takes the place of each; the old one stays readable."""
    done, failed = uvloop.run(requeue_all(numbers))
    if as_json:
        print(as_text({"requeued": done}))
    else:
        for number, submission in done.items():
            print(f"{number}: judged again as {submission}")
    if failed:
        raise typer.Exit(EXIT_OURS)


@app.command()
def discard(numbers: Numbers, as_json: AsJson = False) -> None:
    """Take them off the list for good; their submissions stay failed."""
    done, failed = uvloop.run(discard_all(numbers))
    if as_json:
        print(as_text({"discarded": list(done)}))
    else:
        for number in done:
            print(f"{number}: discarded")
    if failed:
        raise typer.Exit(EXIT_OURS)


async def read_all(settled: bool) -> list[DeadLetter]:
    """After a bad night there are many, and whoever counts them must not stop at a page."""
    found: list[DeadLetter] = []
    async with open_command_database(load_settings()) as pool, connection(pool) as acquired:
        while True:
            before = found[-1].id if found else None
            page = await dead_letters.page(
                acquired, include_resolved=settled, before=before, limit=AT_ONCE
            )
            found += page
            if len(page) < AT_ONCE:
                return found


async def read_one(number: int) -> DeadLetter:
    async with open_command_database(load_settings()) as pool, connection(pool) as acquired:
        letter = await dead_letters.get(acquired, number)
    if letter is None:
        raise NotFound(f"There is no dead letter {number}: see `deemster dlq list --all`.")
    return letter


async def requeue_all(numbers: list[int]) -> tuple[dict[int, SubmissionId], int]:
    async with open_command_database(load_settings()) as pool:

        async def act(number: int) -> SubmissionId:
            return (await dead_letter_actions.requeue(pool, number, actor=Actor(operator()))).id

        return await for_each(numbers, act)


async def discard_all(numbers: list[int]) -> tuple[dict[int, None], int]:
    actor = Actor(operator())
    async with open_command_database(load_settings()) as pool:
        return await for_each(
            numbers, lambda each: dead_letter_actions.discard(pool, each, actor=actor)
        )


def as_text(values: object) -> str:
    return json.dumps(values, default=str)
