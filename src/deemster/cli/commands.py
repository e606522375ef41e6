"""Which commands there are; each is imported when it is used, so that all start fast."""

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any, Final, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group


class CommandEntry(NamedTuple):
    where: str
    """Module and name, below this package."""
    summary: str
    """The first paragraph of its help, so that the page of all commands needs none of them."""


COMMANDS: Final = {
    "up": CommandEntry(
        "up.command:up",
        "Start the whole service: a database, the API, and what judges submissions.",
    ),
    "api": CommandEntry(
        "roles.api:api",
        "Answer HTTP requests, on the address and port that `deemster settings` shows.",
    ),
    "relay": CommandEntry(
        "roles.relay:relay",
        "Carry accepted submissions from the database to the queue.",
    ),
    "worker": CommandEntry(
        "roles.worker:worker",
        "Judge submissions, in the cage.",
    ),
    "keeper": CommandEntry(
        "roles.keeper:keeper",
        "Rescue what dead workers left, send again what the queue lost, trim what is over.",
    ),
    "run": CommandEntry(
        "run:run",
        "Run one program in the sandbox.",
    ),
    "problem": CommandEntry(
        "problem:app",
        "Check, make, import, list and retire problems.",
    ),
    "submit": CommandEntry(
        "submit.command:submit",
        "Submit a program to a running service.",
    ),
    "doctor": CommandEntry(
        "doctor:doctor",
        "Check this machine: every sandbox layer and toolchain, and how to mend what is "
        "missing.",
    ),
    "languages": CommandEntry(
        "languages:languages",
        "Show the languages: found or missing, with exact versions.",
    ),
    "bench": CommandEntry(
        "bench:app",
        "Measure what this machine does, as ratios against the bare limit.",
    ),
    "user": CommandEntry(
        "user:app",
        "Accounts, and the tokens by which programs act for them.",
    ),
    "dlq": CommandEntry(
        "dlq:app",
        "Dead letters: submissions that the judge itself failed at, again and again.",
    ),
    "rejudge": CommandEntry(
        "rejudge:app",
        "Judge submissions again: at once, or on trial (`--stage`) to be applied or dropped.",
    ),
    "backup": CommandEntry(
        "backup:backup",
        "Write everything that is kept into one file: database, sources, test data, "
        "secret key.",
    ),
    "restore": CommandEntry(
        "backup:restore",
        "Bring back everything from a backup, into an empty data directory or database.",
    ),
    "migrate": CommandEntry(
        "migrate:migrate",
        "Bring the database's tables to the form that this version needs.",
    ),
    "settings": CommandEntry(
        "settings:settings",
        "Show every setting, its value and its source.",
    ),
}
"""In the order of the help page."""


class Commands(MutableMapping[str, Any]):
    """As `TyperGroup` wants them: a command is made when it is looked up."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = make(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)

    def __setitem__(self, name: str, command: Any) -> None:
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        del self._made[name]


class Lazily(TyperGroup):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = Commands()

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self.commands = {
            name: TyperCommand(name, help=place.summary) for name, place in COMMANDS.items()
        }
        super().format_help(ctx, formatter)


def make(name: str) -> Any:
    module, _, attribute = COMMANDS[name].where.partition(":")
    found = getattr(import_module(f"deemster.cli.{module}"), attribute)
    if isinstance(found, typer.Typer):
        command: Any = get_group(found)
    else:
        alone = typer.Typer(add_completion=False, rich_markup_mode="markdown")
        alone.command()(found)
        command = get_command(alone)
    command.name = name
    return command
