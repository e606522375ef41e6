"""Which commands there are; each is imported when it is used, so that all start fast."""

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any, Final

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

PLACES: Final = {
    "up": "up.command:up",
    "api": "roles.api:api",
    "relay": "roles.relay:relay",
    "worker": "roles.worker:worker",
    "keeper": "roles.keeper:keeper",
    "run": "run:run",
    "problem": "problem:app",
    "submit": "submit.command:submit",
    "doctor": "doctor:doctor",
    "languages": "languages:languages",
    "bench": "bench:app",
    "user": "user:app",
    "dlq": "dlq:app",
    "rejudge": "rejudge:app",
    "backup": "backup.command:backup",
    "restore": "backup.command:restore",
    "migrate": "migrate:migrate",
    "settings": "settings:settings",
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
        return iter(PLACES)

    def __len__(self) -> int:
        return len(PLACES)

    def __setitem__(self, name: str, command: Any) -> None:
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        del self._made[name]


class Lazily(TyperGroup):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = Commands()


def make(name: str) -> Any:
    module, _, attribute = PLACES[name].partition(":")
    found = getattr(import_module(f"deemster.cli.{module}"), attribute)
    if isinstance(found, typer.Typer):
        command: Any = get_group(found)
    else:
        alone = typer.Typer(add_completion=False, rich_markup_mode="markdown")
        alone.command()(found)
        command = get_command(alone)
    command.name = name
    return command
